"""Maintenance jobs, each once a day for every tenant unless its schedules say otherwise.

Counts of owners are made once an hour.

All may run at any time, twice or not at all: they find the work that is due, and do it in batches that commit
one by one. `maintenance.prune` and `maintenance.log_days` also concern rows of all tenants; the first run of
a day leaves little for the other tenants' runs.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from mnemic.curation.cleaning import count_candidates
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.events.log import drop_events
from mnemic.govern import idempotent_requests, spend
from mnemic.govern.owner_counts import COUNT_EVERY_S, count_changed
from mnemic.jobs.handlers import JsonValue, RunningJob
from mnemic.maintenance import series
from mnemic.maintenance.archiving import archive
from mnemic.mind import working
from mnemic.record.near_duplicates import compare_pending
from mnemic.runtime.core import Core
from mnemic.runtime.job_types import DefaultSchedule, JobTable, JobType
from mnemic.webhooks.subscriptions import drop_deliveries, forget_secrets

BATCH_ROWS = 1_000
UNUSED_DAYS = 30
"""How long a memory of low salience may be unused before it is archived."""
SILENT_DAYS = 90
"""How long a conversation may be silent before it is archived."""
LOG_DAYS_AHEAD = 7


async def clean_up(core: Core, job: RunningJob) -> JsonValue:
    """`maintenance.cleanup`: find near duplicates; archive expired or unused memories and conversations.

    Memories are archived through the change log. Archiving a conversation only marks it: its turns are
    recalled as before. Then it counts what each owner could clean up.
    """
    database = core.storage.tenant_database
    return {
        "compared_count": await compare_pending(database, max_rows=None),
        "expired_count": await archive(database, "housekeeping.expired", {}, "It has expired.", BATCH_ROWS),
        "faint_count": await archive(
            database,
            "housekeeping.faint",
            {"unused_days": UNUSED_DAYS},
            f"Its salience is low, and it was not used for {UNUSED_DAYS} days.",
            BATCH_ROWS,
        ),
        "conversation_count": await _in_batches(
            database, "housekeeping.archive_conversations", {"silent_days": SILENT_DAYS}
        ),
        "counted_owner_count": await _count_cleanup(database),
    }


async def _count_cleanup(database: TenantDatabase) -> int:
    """Count what each owner could clean up, for `memory.cleanup.counts`; returns how many owners."""
    owner: str | None = None
    owner_count = 0
    while True:
        async with database.transaction() as transaction:
            row = await transaction.first("curation.next_owner", {"after": owner})
        if row is None:
            return owner_count
        owner = str(row["owner"])
        await count_candidates(database, owner)
        owner_count += 1


async def prune(core: Core, job: RunningJob) -> JsonValue:
    """`maintenance.prune`: delete old jobs of all tenants; this one's old events, deliveries and the like."""
    settings, storage = core.settings, core.storage

    async def prune_jobs() -> int:
        parameters = {"keep_days": settings.job_retention_days, "limit": BATCH_ROWS}
        async with storage.database.privileged_transaction("working", "queue") as queries:
            return int((await queries.one("housekeeping.prune_jobs", parameters))["pruned"])

    keep_days = settings.event_retention_days
    return {
        "job_count": await _repeat_batches(prune_jobs),
        "event_count": await drop_events(storage.tenant_database, keep_days=keep_days),
        "delivery_count": await drop_deliveries(storage.tenant_database, keep_days=keep_days),
        "secret_count": await forget_secrets(storage.tenant_database),
        "answer_count": await _repeat_batches(
            lambda: idempotent_requests.prune(storage.tenant_database, limit=BATCH_ROWS)
        ),
        "working_item_count": await _repeat_batches(
            lambda: working.prune(storage.tenant_database, limit=BATCH_ROWS)
        ),
        "model_call_count": await _repeat_batches(
            lambda: spend.prune(storage.tenant_database, limit=BATCH_ROWS)
        ),
        "hourly_metric_count": await _repeat_batches(
            lambda: series.prune(storage.tenant_database, limit=BATCH_ROWS)
        ),
    }


async def rotate_log_partitions(core: Core, job: RunningJob) -> JsonValue:
    """`maintenance.log_days`: create partitions of the memory log for the next days, drop old ones."""
    async with core.storage.tenant_database.transaction() as transaction:
        made = await transaction.one("housekeeping.make_log_days", {"days": 1 + LOG_DAYS_AHEAD})
    keep = {"keep_days": core.settings.memory_log_retention_days}
    async with core.storage.database.privileged_transaction("working", "queue") as queries:
        dropped = await queries.one("housekeeping.drop_old_logs", keep)
    return {"made_count": made["made"], "dropped_count": dropped["dropped"]}


async def save_snapshots(core: Core, job: RunningJob) -> JsonValue:
    """`maintenance.snapshots`: store the current rows of the tenant's views."""
    await refresh_snapshots(core.storage.tenant_database)
    return None


async def refresh_snapshots(database: TenantDatabase) -> None:
    """Replace the tenant's snapshots; concurrent readers see the old ones."""
    async with database.transaction() as transaction:
        await transaction.extend_timeout()
        await transaction.execute("housekeeping.take_snapshots", {"tenant_id": database.tenant.id})


async def count_owners(core: Core, job: RunningJob) -> JsonValue:
    """`maintenance.owner_counts`: count what owners hold that changed since they were counted."""
    return {"owner_count": await count_changed(core.storage.tenant_database)}


async def _in_batches(database: TenantDatabase, name: str, parameters: dict[str, Any]) -> int:
    """Run an UPDATE of a bounded number of rows until none is left; returns how many rows."""

    async def update(transaction: Transaction) -> int:
        return await transaction.execute(name, {**parameters, "limit": BATCH_ROWS})

    return await _repeat_batches(lambda: database.run(update))


async def _repeat_batches(batch: Callable[[], Awaitable[int]]) -> int:
    total = 0
    while True:
        count = await batch()
        total += count
        if count < BATCH_ROWS:
            return total


JOBS = JobTable(
    (
        JobType("maintenance.cleanup", clean_up, DefaultSchedule("cleanup")),
        JobType("maintenance.log_days", rotate_log_partitions, DefaultSchedule("log days")),
        JobType(
            "maintenance.owner_counts", count_owners, DefaultSchedule("owner counts", every_s=COUNT_EVERY_S)
        ),
        JobType("maintenance.prune", prune, DefaultSchedule("pruning")),
        JobType("maintenance.snapshots", save_snapshots, DefaultSchedule("snapshots")),
    )
)
