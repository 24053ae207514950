"""Fan out events: enqueue a delivery job for each event and each webhook that it matches.

For one webhook at a time: lock its row, read the events after its position, enqueue a job for each, advance
the position. This is one transaction, so each event is enqueued exactly once. A webhook that another worker
has locked is skipped. If retention has dropped events before the fan-out, the webhook's log says so.
"""

import logging
from collections.abc import Awaitable, Callable
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import Database, TenantDatabase, Transaction
from mnemic.db.tenancy import Tenant
from mnemic.errors import MnemicError, NotFoundError
from mnemic.events.log import EventFilter, bounds, page_of, sequence
from mnemic.jobs.heartbeat import QUEUE
from mnemic.types.event import Event
from mnemic.webhooks.sending import DeliveryResult
from mnemic.webhooks.subscriptions import DeliveryAttempt, log_delivery

TENANTS_MAX = 100
EVENTS_MAX = 100

AddJob = Callable[[Transaction, UUID, Event], Awaitable[object]]

logger = logging.getLogger("mnemic.webhooks")


async def fan_out(database: Database, add_job: AddJob) -> int:
    """Enqueue jobs for new events of all tenants, a bounded number of each; returns how many."""
    async with database.privileged_transaction("working", QUEUE) as queries:
        behind = await queries.rows("webhooks.tenants_with_undelivered_events", {"most": TENANTS_MAX})
    added = 0
    for row in behind:
        tenant = Tenant(row["tenant_id"], row["name"])
        try:
            added += await fan_out_tenant(TenantDatabase(database, tenant), add_job)
        except MnemicError:
            # A failure of one tenant must not delay the events of others.
            logger.exception("fan-out of the events of a tenant failed")
    return added


async def fan_out_tenant(database: TenantDatabase, add_job: AddJob) -> int:
    """The same for one tenant: one transaction for each webhook with new events."""
    async with database.transaction() as transaction:
        await sequence(transaction)
    added, after = 0, None
    while True:
        async with database.transaction() as transaction:
            webhook = await transaction.first("webhooks.take_next", {"after": after})
            if webhook is None:
                return added
            after = webhook["webhook_id"]
            added += await _enqueue_new(transaction, webhook, add_job)


async def _enqueue_new(transaction: Transaction, webhook: Row, add_job: AddJob) -> int:
    webhook_id, event_filter = webhook["webhook_id"], EventFilter(webhook["owner"], webhook["types"])
    try:
        page = await page_of(transaction, event_filter, after=webhook["position"], limit=EVENTS_MAX)
    except NotFoundError as missing:
        await _skip_dropped(transaction, webhook, missing)
        return 0
    for event in page.events:
        await add_job(transaction, webhook_id, event)
    await transaction.execute("webhooks.move", {"webhook_id": webhook_id, "position": page.through})
    return len(page.events)


async def _skip_dropped(transaction: Transaction, webhook: Row, missing: NotFoundError) -> None:
    """Continue after the dropped events, and log that they were not sent."""
    position = (await bounds(transaction)).dropped
    result = DeliveryResult(None, f"not sent: {missing}"[:500], 0.0)
    attempt = DeliveryAttempt(webhook["webhook_id"], webhook["owner"], position, "webhook.missed", 1, result)
    await log_delivery(transaction, attempt)
    await transaction.execute("webhooks.move", {"webhook_id": webhook["webhook_id"], "position": position})
