"""Webhooks are created, rotated and deleted in the same way on every transport."""

from typing import Any
from uuid import uuid4

import pytest

from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.types.webhook import NewWebhook


async def test_a_secret_is_rotated_and_returned_once(memory: Any) -> None:
    made = await memory.webhooks.create("https://hooks.invalid/")
    rotated = await memory.webhooks.rotate(made.webhook.webhook_id)
    assert isinstance(rotated, NewWebhook)
    assert rotated.secret.startswith("whsec_")
    assert rotated.secret != made.secret
    until = rotated.webhook.previous_secret_until
    assert until is not None
    assert until > rotated.webhook.updated_at
    assert await memory.webhooks.get(made.webhook.webhook_id) == rotated.webhook
    for secret in (made.secret, rotated.secret):
        assert secret not in repr((rotated, await memory.webhooks.list()))
    assert await memory.webhooks.delete(made.webhook.webhook_id)


async def test_rotating_an_unknown_webhook_is_an_error(memory: Any) -> None:
    with pytest.raises(NotFoundError, match="no webhook"):
        await memory.webhooks.rotate(uuid4())
    with pytest.raises(InvalidInputError, match="webhook_id"):
        await memory.webhooks.rotate("no id")
