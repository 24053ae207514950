"""Sending events to webhooks: the job that delivers one, and what hands them to the queue.

A worker calls `fan_out_webhooks` every second; it adds a job `webhook.deliver` for each event that a webhook
gets. The job sends the event and writes the attempt down. If the receiver did not take it, the job fails, and
the queue's backoff brings it back, for about a day.
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
from mnemic.types.scope import Scope
from mnemic.webhooks.fan_out import fan_out
from mnemic.webhooks.sending import Outcome, send
from mnemic.webhooks.signing import signed_headers
from mnemic.webhooks.subscriptions import (
    GONE,
    Receiver,
    Sent,
    disable_webhook,
    log_delivery,
    reason_to_disable,
    receiver_of,
)

DELIVER = "webhook.deliver"
ATTEMPTS = 30
"""At half a minute doubling to an hour, these take about a day."""
PROCESS = "webhooks"
GLOBAL_CHANNEL = "_global"


async def fan_out_webhooks(database: Database) -> int:
    """Add a job for each event that a webhook has not been given yet; returns how many."""
    return await fan_out(database, add_delivery)


async def add_delivery(transaction: Transaction, webhook_id: UUID, event: Event) -> None:
    """Add the job that delivers one event to one webhook."""
    await enqueue(
        transaction,
        DELIVER,
        {"webhook_id": str(webhook_id), "position": event.position},
        owner=event.owner,
        max_attempts=ATTEMPTS,
    )


async def deliver(core: Core, job: RunningJob) -> JsonValue:
    """`webhook.deliver`: send one event. Fails, to be tried again, while the receiver does not take it."""
    database = core.storage.tenant_database
    webhook_id, position = UUID(job.payload["webhook_id"]), int(job.payload["position"])
    async with database.transaction() as transaction:
        receiver = await receiver_of(transaction, webhook_id)
        row = await transaction.first("events.get", {"position": position})
    if receiver is None or row is None:
        return {"skipped": "the webhook was deleted" if receiver is None else "the event is no longer kept"}
    if receiver.state == "disabled":
        raise DeliveryError("The webhook is disabled. Enable it, and replay this job if it is dead by then.")
    event = as_event(row)
    outcome = await send_message(core, receiver, f"msg_{webhook_id.hex}_{position}", message_of(event))
    await _note(database, Sent(webhook_id, event.owner, position, event.type, job.attempt, outcome))
    if outcome.error is not None and outcome.status_code != GONE:
        raise DeliveryError(f"Not delivered: {outcome.error}.")
    return {"status_code": outcome.status_code}


async def send_message(core: Core, receiver: Receiver, message_id: str, message: dict[str, Any]) -> Outcome:
    """Sign and send; no connection to the database is held meanwhile."""
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    headers = signed_headers(receiver.signing_secrets, message_id, body, timestamp_s=int(time.time()))
    allow_private = core.settings.webhook_private_addresses
    return await send(receiver.url, headers, body, allow_private=allow_private)


def message_of(event: Event) -> dict[str, Any]:
    """An event as it is sent: type, timestamp and data, as the scheme recommends."""
    return {
        "type": event.type,
        "timestamp": event.at.astimezone(UTC).isoformat(),
        "data": {"position": event.position, "owner": event.owner, "subject": event.subject, **event.data},
    }


async def _note(database: TenantDatabase, sent: Sent) -> None:
    """Write the attempt down, and disable the webhook if that was one too many."""
    async with database.transaction() as transaction:
        await log_delivery(transaction, sent)
        reason = await reason_to_disable(transaction, sent.webhook_id, sent.outcome)
    if reason is None:
        return
    act = audited(
        database,
        Scope(None, GLOBAL_CHANNEL, PROCESS),
        action="disable_webhook",
        target=str(sent.webhook_id),
        detail={"reason": reason},
    )
    async with act, database.transaction() as transaction:
        await disable_webhook(transaction, sent.webhook_id, owner=None, reason=reason)
        await act.commit_with(transaction)
