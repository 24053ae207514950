"""Webhooks as they are kept: who gets which events, and what came of sending them.

A webhook is *enabled* or *disabled*. It is disabled by hand, at once when its receiver answers 410 (gone),
and when `DISABLE_AFTER_S` have passed with nothing but failures. A disabled one stands still; enabled again,
it goes on where it stopped.

Its secret is *rotated* by hand: from then on messages are signed with the new one and, for `SECRET_GRACE_S`,
with the old one, too, so that a receiver may learn the new one at any time in between and miss nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.pagination import newest_first
from mnemic.errors import NotFoundError
from mnemic.events.consumers import Start, start_position
from mnemic.types.checks import check_id
from mnemic.types.page import check_limit
from mnemic.types.webhook import NewWebhook, Webhook, WebhookDelivery
from mnemic.webhooks.sending import Outcome
from mnemic.webhooks.signing import new_secret

DISABLE_AFTER_S = 3 * 24 * 3600.0
SECRET_GRACE_S = 24 * 3600
GONE = 410
DROP_MAX = 10_000


async def create_webhook(
    database: TenantDatabase, url: str, *, types: list[str] | None, owner: str | None, start: Start
) -> NewWebhook:
    """Make a webhook; its secret is handed out here and nowhere else."""
    secret = new_secret()
    parameters = {
        "tenant_id": database.tenant.id,
        "owner": owner,
        "url": url,
        "types": types,
        "secret": secret,
    }
    async with database.transaction() as transaction:
        position = await start_position(transaction, start)
        row = await transaction.one("webhooks.create", {**parameters, "position": position})
    return NewWebhook(_as_webhook(row), secret)


async def rotate_secret(database: TenantDatabase, webhook_id: object, *, owner: str | None) -> NewWebhook:
    """Give it a new secret, handed out here and nowhere else; the old one signs along for a while."""
    secret = new_secret()
    named = {"webhook_id": check_id("webhook_id", webhook_id), "owner": owner}
    parameters = {**named, "secret": secret, "grace_s": SECRET_GRACE_S}
    async with database.transaction(maintenance=True) as transaction:
        if not (await transaction.one("webhooks.rotate", parameters))["is_rotated"]:
            raise _unknown(webhook_id)
        row = await transaction.one("webhooks.get", named)
    return NewWebhook(_as_webhook(row), secret)


async def get_webhook(database: TenantDatabase, webhook_id: object, *, owner: str | None) -> Webhook:
    """One webhook; NotFoundError if there is none, or it is not for this owner."""
    return await _change(database, "webhooks.get", webhook_id, {"owner": owner})


async def list_webhooks(
    database: TenantDatabase, *, owner: str | None, after: object, limit: int
) -> list[Webhook]:
    """Webhooks, the oldest first."""
    parameters = {
        "owner": owner,
        "after": check_id("after", after) if after is not None else None,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [_as_webhook(row) for row in await transaction.rows("webhooks.list", parameters)]


async def update_webhook(
    database: TenantDatabase,
    webhook_id: object,
    *,
    owner: str | None,
    url: str | None,
    types: list[str] | None,
    change_types: bool,
) -> Webhook:
    """Give it another address, other types, or both."""
    parameters = {"owner": owner, "url": url, "types": types, "change_types": change_types}
    return await _change(database, "webhooks.update", webhook_id, parameters)


async def enable_webhook(
    database: TenantDatabase, webhook_id: object, *, owner: str | None, start: Start | None
) -> Webhook:
    """Let it get events again, from where it stopped unless `start` says otherwise."""
    position = None
    if start is not None:
        async with database.transaction() as transaction:
            position = await start_position(transaction, start)
    return await _change(database, "webhooks.enable", webhook_id, {"owner": owner, "position": position})


async def disable_webhook(
    transaction: Transaction, webhook_id: UUID, *, owner: str | None, reason: str
) -> bool:
    """Stop it; returns False if it was not enabled."""
    parameters = {"webhook_id": webhook_id, "owner": owner, "reason": reason}
    return await transaction.first("webhooks.disable", parameters) is not None


async def delete_webhook(database: TenantDatabase, webhook_id: object, *, owner: str | None) -> bool:
    """Delete it with its log; returns whether there was one."""
    parameters = {"webhook_id": check_id("webhook_id", webhook_id), "owner": owner}
    async with database.transaction() as transaction:
        return await transaction.execute("webhooks.delete", parameters) > 0


async def list_deliveries(
    database: TenantDatabase, webhook_id: UUID, *, before: UUID | str | None, limit: int
) -> list[WebhookDelivery]:
    """Attempts to deliver to a webhook, newest first."""
    parameters = {"webhook_id": webhook_id}
    rows = await newest_first(database, "webhook_deliveries", parameters, before=before, limit=limit)
    return [WebhookDelivery(**row) for row in rows]


@dataclass(frozen=True)
class Receiver:
    """What sending to a webhook takes."""

    webhook_id: UUID
    owner: str | None
    url: str
    state: str
    secret: str = field(repr=False)
    previous_secret: str | None = field(repr=False)
    """The one before, while messages are signed with that, too."""

    @property
    def signing_secrets(self) -> list[str]:
        """What messages are signed with, the newest first."""
        return [self.secret] if self.previous_secret is None else [self.secret, self.previous_secret]


async def receiver_of(transaction: Transaction, webhook_id: UUID) -> Receiver | None:
    """Where and how to send; None if the webhook was deleted."""
    row = await transaction.first("webhooks.to_send", {"webhook_id": webhook_id})
    return Receiver(webhook_id=webhook_id, **row) if row is not None else None


@dataclass(frozen=True)
class Sent:
    """One message that was sent, for the log."""

    webhook_id: UUID
    owner: str | None
    event_position: int | None
    event_type: str
    attempt: int
    outcome: Outcome


async def log_delivery(transaction: Transaction, sent: Sent) -> WebhookDelivery:
    """Write an attempt down; NotFoundError if the webhook was deleted meanwhile."""
    parameters = {
        "webhook_id": sent.webhook_id,
        "owner": sent.owner,
        "event_position": sent.event_position,
        "event_type": sent.event_type,
        "attempt": sent.attempt,
        "status_code": sent.outcome.status_code,
        "error": sent.outcome.error,
        "duration_ms": sent.outcome.duration_ms,
    }
    row = await transaction.first("webhook_deliveries.add", parameters)
    if row is None:
        raise _unknown(sent.webhook_id)
    return WebhookDelivery(**row)


async def reason_to_disable(transaction: Transaction, webhook_id: UUID, outcome: Outcome) -> str | None:
    """Note how an attempt went; returns why the webhook should get nothing more, or None."""
    if outcome.error is None:
        await transaction.execute("webhooks.succeeded", {"webhook_id": webhook_id})
        return None
    row = await transaction.first("webhooks.failed", {"webhook_id": webhook_id})
    if row is None or not row["is_enabled"]:
        return None
    if outcome.status_code == GONE:
        return f"the receiver answered with status {GONE}: it is gone"
    if row["failing_s"] >= DISABLE_AFTER_S:
        return f"nothing but failures for {row['failing_s'] / 86_400:.1f} days; the last one: {outcome.error}"
    return None


async def drop_deliveries(database: TenantDatabase, *, keep_days: int) -> int:
    """Forget attempts that are older than some days, a bounded number at a time; returns how many."""
    dropped, last = 0, DROP_MAX
    while last == DROP_MAX:
        async with database.transaction(maintenance=True) as transaction:
            parameters = {"keep_days": keep_days, "most": DROP_MAX}
            last = int((await transaction.one("webhook_deliveries.drop", parameters))["dropped"])
        dropped += last
    return dropped


async def forget_secrets(database: TenantDatabase) -> int:
    """Forget secrets that no message is signed with any more; returns how many."""
    async with database.transaction(maintenance=True) as transaction:
        return int((await transaction.one("webhooks.forget_secrets"))["forgotten"])


async def _change(
    database: TenantDatabase, name: str, webhook_id: object, parameters: Mapping[str, Any]
) -> Webhook:
    checked = {**parameters, "webhook_id": check_id("webhook_id", webhook_id)}
    async with database.transaction() as transaction:
        row = await transaction.first(name, checked)
    if row is None:
        raise _unknown(webhook_id)
    return _as_webhook(row)


def _as_webhook(row: Row) -> Webhook:
    types = tuple(row["types"]) if row["types"] is not None else None
    return Webhook(**{**row, "types": types})


def _unknown(webhook_id: object) -> NotFoundError:
    return NotFoundError(f"There is no webhook {webhook_id}. `memory.webhooks.list()` lists those there are.")
