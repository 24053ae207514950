"""Deliver events to webhooks: the job that sends one event, and the fan-out that enqueues these jobs.

A worker calls `fan_out_webhooks` every second; it enqueues a job `webhook.deliver` for each event that
matches a webhook. The job sends the event and logs the attempt. If the receiver does not accept the event,
the job fails, and the queue retries it with backoff for about a day.
"""

import json
import time
from datetime import UTC
from typing import Any
from uuid import UUID

from mnemic.db.database import Database, TenantDatabase, Transaction
from mnemic.errors import DeliveryError
from mnemic.events.log import as_event
from mnemic.govern.audit import audited
from mnemic.jobs.handlers import JsonValue, RunningJob
from mnemic.jobs.queue import enqueue
from mnemic.runtime.core import Core
from mnemic.types.event import Event
from mnemic.types.scope import GLOBAL_CHANNEL, Scope
from mnemic.webhooks.fan_out import fan_out
from mnemic.webhooks.sending import DeliveryResult, send
from mnemic.webhooks.signing import signed_headers
from mnemic.webhooks.subscriptions import (
    GONE,
    DeliveryAttempt,
    Endpoint,
    disable_webhook,
    log_delivery,
    read_endpoint,
    reason_to_disable,
)

DELIVER = "webhook.deliver"
ATTEMPTS = 30
"""With backoff from half a minute to an hour, these take about a day."""
PROCESS = "webhooks"


async def fan_out_webhooks(database: Database) -> int:
    """Enqueue a job for each event that a webhook has not been given yet; returns how many."""
    return await fan_out(database, add_delivery)


async def add_delivery(transaction: Transaction, webhook_id: UUID, event: Event) -> None:
    """Enqueue the job that delivers one event to one webhook."""
    await enqueue(
        transaction,
        DELIVER,
        {"webhook_id": str(webhook_id), "position": event.position},
        owner=event.owner,
        max_attempts=ATTEMPTS,
    )


async def deliver(core: Core, job: RunningJob) -> JsonValue:
    """`webhook.deliver`: send one event. Fails, and is retried, while the receiver does not accept it."""
    database = core.storage.tenant_database
    webhook_id, position = UUID(job.payload["webhook_id"]), int(job.payload["position"])
    async with database.transaction() as transaction:
        endpoint = await read_endpoint(transaction, webhook_id)
        row = await transaction.first("events.get", {"position": position})
    if endpoint is None or row is None:
        return {"skipped": "the webhook was deleted" if endpoint is None else "the event is no longer kept"}
    if endpoint.state == "disabled":
        raise DeliveryError("The webhook is disabled. Enable it, and replay this job if it is dead by then.")
    event = as_event(row)
    result = await send_message(core, endpoint, f"msg_{webhook_id.hex}_{position}", message_of(event))
    await _log_attempt(
        database, DeliveryAttempt(webhook_id, event.owner, position, event.type, job.attempt, result)
    )
    if result.error is not None and result.status_code != GONE:
        raise DeliveryError(f"Not delivered: {result.error}.")
    return {"status_code": result.status_code}


async def send_message(
    core: Core, endpoint: Endpoint, message_id: str, message: dict[str, Any]
) -> DeliveryResult:
    """Sign and send a message. No database connection is held meanwhile."""
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    headers = signed_headers(endpoint.signing_secrets, message_id, body, timestamp_s=int(time.time()))
    allow_private = core.settings.webhook_private_addresses
    return await send(endpoint.url, headers, body, allow_private=allow_private)


def message_of(event: Event) -> dict[str, Any]:
    """The message of an event: type, timestamp and data, as Standard Webhooks recommends."""
    return {
        "type": event.type,
        "timestamp": event.at.astimezone(UTC).isoformat(),
        "data": {"position": event.position, "owner": event.owner, "subject": event.subject, **event.data},
    }


async def _log_attempt(database: TenantDatabase, attempt: DeliveryAttempt) -> None:
    """Log the attempt, and disable the webhook if it has failed for too long."""
    async with database.transaction() as transaction:
        await log_delivery(transaction, attempt)
        reason = await reason_to_disable(transaction, attempt.webhook_id, attempt.result)
    if reason is None:
        return
    act = audited(
        database,
        Scope(None, GLOBAL_CHANNEL, PROCESS),
        action="disable_webhook",
        target=str(attempt.webhook_id),
        detail={"reason": reason},
    )
    async with act, database.transaction() as transaction:
        await disable_webhook(transaction, attempt.webhook_id, owner=None, reason=reason)
        await act.commit_with(transaction)
