"""Handing events to the queue, one job for each webhook that gets them.

For one webhook at a time: hold its row, read the events behind its position, add a job for each, move the
position; one transaction, so that an event is handed over once, or not yet. A webhook that another worker
holds is left to it. What retention dropped before it was handed over is written into the webhook's log.
"""

import logging
from collections.abc import Awaitable, Callable
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import Database, TenantDatabase, Transaction
from mnemic.db.tenancy import Tenant
from mnemic.errors import MnemicError, NotFoundError
from mnemic.events.log import EventFilter, bounds, page_of, sequence
from mnemic.types.event import Event
from mnemic.webhooks.sending import Outcome
from mnemic.webhooks.subscriptions import Sent, log_delivery

TENANTS_MAX = 100
EVENTS_MAX = 100
WORKING = "queue"

AddJob = Callable[[Transaction, UUID, Event], Awaitable[object]]

logger = logging.getLogger("mnemic.webhooks")


async def fan_out(database: Database, add_job: AddJob) -> int:
    """Hand over what is new, of all tenants, a bounded number of each; returns how many jobs were added."""
    async with database.proven("working", WORKING) as queries:
        behind = await queries.rows("webhooks.tenants_behind", {"most": TENANTS_MAX})
    added = 0
    for row in behind:
        tenant = Tenant(row["tenant_id"], row["name"])
        try:
            added += await fan_out_tenant(TenantDatabase(database, tenant), add_job)
        except MnemicError:
            # The other tenants' events must not wait for this one's.
            logger.exception("events of a tenant could not be handed over")
    return added


async def fan_out_tenant(database: TenantDatabase, add_job: AddJob) -> int:
    """The same for one tenant: a step for each webhook that is behind."""
    async with database.transaction() as transaction:
        await sequence(transaction)
    added, after = 0, None
    while True:
        async with database.transaction() as transaction:
            webhook = await transaction.first("webhooks.take_next", {"after": after})
            if webhook is None:
                return added
            after = webhook["webhook_id"]
            added += await _hand_over(transaction, webhook, add_job)


async def _hand_over(transaction: Transaction, webhook: Row, add_job: AddJob) -> int:
    webhook_id, wanted = webhook["webhook_id"], EventFilter(webhook["owner"], webhook["types"])
    try:
        page = await page_of(transaction, wanted, after=webhook["position"], limit=EVENTS_MAX)
    except NotFoundError as missing:
        await _pass_over(transaction, webhook, missing)
        return 0
    for event in page.events:
        await add_job(transaction, webhook_id, event)
    await transaction.execute("webhooks.move", {"webhook_id": webhook_id, "position": page.through})
    return len(page.events)


async def _pass_over(transaction: Transaction, webhook: Row, missing: NotFoundError) -> None:
    """Go on behind what is no longer kept, and leave word of it."""
    position = (await bounds(transaction)).dropped
    outcome = Outcome(None, f"not sent: {missing}"[:500], 0.0)
    sent = Sent(webhook["webhook_id"], webhook["owner"], position, "webhook.missed", 1, outcome)
    await log_delivery(transaction, sent)
    await transaction.execute("webhooks.move", {"webhook_id": webhook["webhook_id"], "position": position})
