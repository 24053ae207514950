"""Webhooks: addresses that events are sent to, and what came of sending them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

WebhookState = Literal["enabled", "disabled"]


@dataclass(frozen=True)
class Webhook:
    """An address that gets events. Its secret is shown once, when it is made or rotated."""

    webhook_id: UUID
    owner: str | None
    """Whose events it gets; None: everybody's."""
    url: str
    types: tuple[str, ...] | None
    """Which types it gets; None: all."""
    state: WebhookState
    disabled_reason: str | None
    failing_since: datetime | None
    """When the first failure came since the last success; None if the last attempt went well."""
    previous_secret_until: datetime | None
    """Until when messages are signed with the secret before this one, too; None: there is none."""
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True)
class NewWebhook:
    """A webhook that was just made or rotated, with the secret that its messages are signed with."""

    webhook: Webhook
    secret: str = field(repr=False)


@dataclass(frozen=True)
class WebhookDelivery:
    """One attempt to deliver an event."""

    delivery_id: UUID
    webhook_id: UUID
    owner: str | None
    event_position: int | None
    """Which event it was; None for a message that only tests the webhook."""
    event_type: str
    attempt: int
    status_code: int | None
    """What the receiver answered; None if there was no answer."""
    error: str | None
    """Why it was not delivered; None if it was."""
    duration_ms: float
    at: datetime
