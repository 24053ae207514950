"""Stored webhooks: which events go where, and the log of deliveries.

A webhook is *enabled* or *disabled*. It is disabled by a call, at once when its receiver responds with 410
(gone), and after `DISABLE_AFTER_S` of nothing but failures. A disabled webhook keeps its position; enabled
again, it continues there.

A call *rotates* its secret: from then on messages are signed with the new secret and, for `SECRET_GRACE_S`,
also with the old one. The receiver can switch at any time in between without missing a message.
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
from mnemic.webhooks.sending import DeliveryResult
from mnemic.webhooks.signing import new_secret

DISABLE_AFTER_S = 3 * 24 * 3600.0
SECRET_GRACE_S = 24 * 3600
GONE = 410
DROP_MAX = 10_000


async def create_webhook(
    database: TenantDatabase, url: str, *, types: list[str] | None, owner: str | None, start: Start
) -> NewWebhook:
    """Create a webhook; its secret is returned here and nowhere else."""
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
    """Set a new secret, returned here and nowhere else; the old one stays valid for `SECRET_GRACE_S`."""
    secret = new_secret()
    named = {"webhook_id": check_id("webhook_id", webhook_id), "owner": owner}
    parameters = {**named, "secret": secret, "grace_s": SECRET_GRACE_S}
    async with database.transaction(maintenance=True) as transaction:
        if not (await transaction.one("webhooks.rotate", parameters))["is_rotated"]:
            raise _unknown(webhook_id)
        row = await transaction.one("webhooks.get", named)
    return NewWebhook(_as_webhook(row), secret)


async def get_webhook(database: TenantDatabase, webhook_id: object, *, owner: str | None) -> Webhook:
    """One webhook; NotFoundError if there is none for this owner."""
    return await _change(database, "webhooks.get", webhook_id, {"owner": owner})


async def list_webhooks(
    database: TenantDatabase, *, owner: str | None, after: object, limit: int
) -> list[Webhook]:
    """Webhooks, oldest first."""
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
    """Change its URL, its types, or both."""
    parameters = {"owner": owner, "url": url, "types": types, "change_types": change_types}
    return await _change(database, "webhooks.update", webhook_id, parameters)


async def enable_webhook(
    database: TenantDatabase, webhook_id: object, *, owner: str | None, start: Start | None
) -> Webhook:
    """Enable it; it continues where it stopped unless `start` says otherwise."""
    position = None
    if start is not None:
        async with database.transaction() as transaction:
            position = await start_position(transaction, start)
    return await _change(database, "webhooks.enable", webhook_id, {"owner": owner, "position": position})


async def disable_webhook(
    transaction: Transaction, webhook_id: UUID, *, owner: str | None, reason: str
) -> bool:
    """Disable it; returns False if it was not enabled."""
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
class Endpoint:
    """Where and how to send: URL, state and secrets of a webhook."""

    webhook_id: UUID
    owner: str | None
    url: str
    state: str
    secret: str = field(repr=False)
    previous_secret: str | None = field(repr=False)
    """The previous secret, during its grace period."""

    @property
    def signing_secrets(self) -> list[str]:
        """The secrets that messages are signed with, newest first."""
        return [self.secret] if self.previous_secret is None else [self.secret, self.previous_secret]


async def read_endpoint(transaction: Transaction, webhook_id: UUID) -> Endpoint | None:
    """The endpoint of a webhook; None if it was deleted."""
    row = await transaction.first("webhooks.to_send", {"webhook_id": webhook_id})
    return Endpoint(webhook_id=webhook_id, **row) if row is not None else None


@dataclass(frozen=True)
class DeliveryAttempt:
    """One attempt to send an event, for the log."""

    webhook_id: UUID
    owner: str | None
    event_position: int | None
    event_type: str
    attempt: int
    result: DeliveryResult


async def log_delivery(transaction: Transaction, attempt: DeliveryAttempt) -> WebhookDelivery:
    """Log an attempt; NotFoundError if the webhook was deleted meanwhile."""
    parameters = {
        "webhook_id": attempt.webhook_id,
        "owner": attempt.owner,
        "event_position": attempt.event_position,
        "event_type": attempt.event_type,
        "attempt": attempt.attempt,
        "status_code": attempt.result.status_code,
        "error": attempt.result.error,
        "duration_ms": attempt.result.duration_ms,
    }
    row = await transaction.first("webhook_deliveries.add", parameters)
    if row is None:
        raise _unknown(attempt.webhook_id)
    return WebhookDelivery(**row)


async def reason_to_disable(transaction: Transaction, webhook_id: UUID, result: DeliveryResult) -> str | None:
    """Record the result of an attempt; returns why the webhook should be disabled, or None."""
    if result.error is None:
        await transaction.execute("webhooks.succeeded", {"webhook_id": webhook_id})
        return None
    row = await transaction.first("webhooks.failed", {"webhook_id": webhook_id})
    if row is None or not row["is_enabled"]:
        return None
    if result.status_code == GONE:
        return f"the receiver answered with status {GONE} (gone)"
    if row["failing_s"] >= DISABLE_AFTER_S:
        return f"nothing but failures for {row['failing_s'] / 86_400:.1f} days; the last one: {result.error}"
    return None


async def drop_deliveries(database: TenantDatabase, *, keep_days: int) -> int:
    """Delete logged attempts older than some days, a bounded number at a time; returns how many."""
    dropped, last = 0, DROP_MAX
    while last == DROP_MAX:
        async with database.transaction(maintenance=True) as transaction:
            parameters = {"keep_days": keep_days, "most": DROP_MAX}
            last = int((await transaction.one("webhook_deliveries.drop", parameters))["dropped"])
        dropped += last
    return dropped


async def forget_secrets(database: TenantDatabase) -> int:
    """Delete previous secrets whose grace period is over; returns how many."""
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
    return NotFoundError(f"There is no webhook {webhook_id}. `memory.webhooks.list()` lists the webhooks.")
