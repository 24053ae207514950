"""Secrets of webhooks are rotated: the new one signs at once, the old one along with it for a day."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from mnemic.db.database import TenantDatabase
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from mnemic.webhooks.delivery import deliver
from mnemic.webhooks.subscriptions import SECRET_GRACE_S, forget_secrets, read_endpoint
from tests.fresh_tenants import Rows
from tests.opened import core_of
from tests.webhooks.receiving import Received, Receiver
from tests.webhooks.test_webhooks import make, memory, one_job, receiver  # noqa: F401 (fixtures)


async def sent(memory: AsyncMemory, receiver: Receiver, webhook_id: UUID) -> Received:  # noqa: F811
    """A message as it arrives now."""
    assert (await memory.webhooks.test(webhook_id)).error is None
    return receiver.received[-1]


def end_grace(rows: Rows, webhook_id: UUID) -> None:
    rows.select(
        "UPDATE queue.webhooks SET previous_secret_until = now() WHERE webhook_id = %s RETURNING 1",
        webhook_id,
    )


async def test_both_secrets_sign_for_a_while_then_only_the_new_one(
    memory: AsyncMemory,  # noqa: F811
    receiver: Receiver,  # noqa: F811
    rows: Rows,
) -> None:
    webhook_id, old = await make(memory, receiver)
    job = await one_job(memory, rows)
    new = (await memory.webhooks.rotate(webhook_id)).secret
    await deliver(core_of(memory), job)
    (request,) = receiver.received
    assert (request.is_signed_with(new), request.is_signed_with(old)) == (True, True)
    assert len(request.headers["webhook-signature"].split(" ")) == 2
    end_grace(rows, webhook_id)
    await deliver(core_of(memory), job)
    request = receiver.received[-1]
    assert (request.is_signed_with(new), request.is_signed_with(old)) == (True, False)
    assert request.headers["webhook-signature"].count("v1,") == 1


async def test_the_new_secret_is_shown_once_and_the_end_of_the_old_one_always(
    memory: AsyncMemory,  # noqa: F811
    receiver: Receiver,  # noqa: F811
    tenant_database: TenantDatabase,
) -> None:
    webhook_id, old = await make(memory, receiver)
    assert (await memory.webhooks.get(webhook_id)).previous_secret_until is None
    rotated = await memory.webhooks.rotate(webhook_id)
    assert rotated.secret.startswith("whsec_")
    assert rotated.secret != old
    found = await memory.webhooks.get(webhook_id)
    assert found == rotated.webhook
    assert found.previous_secret_until is not None
    ends = datetime.now(UTC) + timedelta(seconds=SECRET_GRACE_S)
    assert abs(found.previous_secret_until - ends) < timedelta(minutes=1)
    async with tenant_database.transaction() as transaction:
        to_send = await read_endpoint(transaction, webhook_id)
    shown = repr((rotated, found, to_send, await memory.webhooks.list()))
    assert rotated.secret not in shown
    assert old not in shown


async def test_rotated_again_the_last_two_sign(memory: AsyncMemory, receiver: Receiver) -> None:  # noqa: F811
    webhook_id, first = await make(memory, receiver)
    second = (await memory.webhooks.rotate(webhook_id)).secret
    third = (await memory.webhooks.rotate(webhook_id)).secret
    request = await sent(memory, receiver, webhook_id)
    assert [request.is_signed_with(secret) for secret in (first, second, third)] == [False, True, True]


async def test_rotated_by_many_at_once_two_of_the_secrets_sign(
    memory: AsyncMemory,  # noqa: F811
    receiver: Receiver,  # noqa: F811
) -> None:
    webhook_id, first = await make(memory, receiver)
    rotated = await asyncio.gather(*(memory.webhooks.rotate(webhook_id) for _ in range(4)))
    request = await sent(memory, receiver, webhook_id)
    assert not request.is_signed_with(first)
    assert sum(request.is_signed_with(each.secret) for each in rotated) == 2


async def test_rotating_changes_nothing_else(memory: AsyncMemory, receiver: Receiver) -> None:  # noqa: F811
    webhook_id, _ = await make(memory, receiver, types=["state.deleted"], owner="alice")
    other_id, other_secret = await make(memory, receiver)
    before = await memory.webhooks.disable(webhook_id, reason="holidays")
    after = (await memory.webhooks.rotate(webhook_id)).webhook
    assert (after.url, after.types, after.owner, after.state, after.disabled_reason, after.created_at) == (
        before.url,
        before.types,
        before.owner,
        before.state,
        before.disabled_reason,
        before.created_at,
    )
    assert after.updated_at > before.updated_at
    assert (await memory.webhooks.get(other_id)).previous_secret_until is None
    assert (await sent(memory, receiver, other_id)).is_signed_with(other_secret)


async def test_an_owner_cannot_rotate_the_secret_of_another(memory: AsyncMemory, receiver: Receiver) -> None:  # noqa: F811
    alice, bob = memory.scope(owner="alice"), memory.scope(owner="bob")
    webhook_id, secret = await make(alice, receiver)
    for call in (bob.webhooks.rotate(webhook_id), memory.webhooks.rotate(uuid4())):
        with pytest.raises(NotFoundError, match="no webhook"):
            await call
    with pytest.raises(InvalidInputError, match="webhook_id"):
        await memory.webhooks.rotate("no id")
    assert (await sent(alice, receiver, webhook_id)).is_signed_with(secret)
    assert (await alice.webhooks.get(webhook_id)).previous_secret_until is None
    assert (await alice.webhooks.rotate(webhook_id)).webhook.webhook_id == webhook_id


async def test_expired_secrets_are_deleted(
    memory: AsyncMemory,  # noqa: F811
    receiver: Receiver,  # noqa: F811
    rows: Rows,
    tenant_database: TenantDatabase,
) -> None:
    ended_id, _ = await make(memory, receiver)
    signing_id, signing_secret = await make(memory, receiver)
    for webhook_id in (ended_id, signing_id):
        await memory.webhooks.rotate(webhook_id)
    end_grace(rows, ended_id)
    assert await forget_secrets(tenant_database) == 1
    kept = rows.select(
        "SELECT webhook_id, previous_secret FROM queue.webhooks WHERE tenant_id = %s ORDER BY webhook_id",
        memory.tenant.id,
    )
    assert kept == [(ended_id, None), (signing_id, signing_secret)]
    assert (await memory.webhooks.get(ended_id)).previous_secret_until is None
