"""Webhooks: URLs that events are sent to, and the log of deliveries."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

WebhookState = Literal["enabled", "disabled"]


@dataclass(frozen=True)
class Webhook:
    """A URL that receives events. Its secret is shown once, when it is created or rotated."""

    webhook_id: UUID
    owner: str | None
    """Whose events it receives; None: those of all owners."""
    url: str
    types: tuple[str, ...] | None
    """Which types it receives; None: all."""
    state: WebhookState
    disabled_reason: str | None
    failing_since: datetime | None
    """Time of the first failure since the last success; None if the last attempt succeeded."""
    previous_secret_until: datetime | None
    """Until when messages are also signed with the previous secret; None: there is none."""
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True)
class NewWebhook:
    """A created or rotated webhook, with the secret that signs its messages."""

    webhook: Webhook
    secret: str = field(repr=False)


@dataclass(frozen=True)
class WebhookDelivery:
    """One attempt to deliver an event."""

    delivery_id: UUID
    webhook_id: UUID
    owner: str | None
    event_position: int | None
    """The event; None for a test message."""
    event_type: str
    attempt: int
    status_code: int | None
    """The receiver's HTTP status; None if there was no response."""
    error: str | None
    """Why it was not delivered; None if it was."""
    duration_ms: float
    at: datetime
