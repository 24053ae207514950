"""The overview of a tenant: its queue, its events, its log, and the calls counted in this process."""

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.maintenance.jobs import refresh_snapshots
from mnemic.runtime.call_metrics import OPERATIONS
from mnemic.runtime.core import Core
from mnemic.types.overview import (
    ConsolidationOverview,
    EventOverview,
    Latency,
    Overview,
    QueueOverview,
    Snapshot,
)


async def read_overview(core: Core) -> Overview:
    """Read the overview in one snapshot."""
    async with core.storage.tenant_database.transaction(snapshot=True) as transaction:
        awaiting = await transaction.one("observing.awaiting_embedding")
        return Overview(
            latency={operation: core.call_metrics.latency(operation) for operation in OPERATIONS},
            latency_24h=await _latency_24h(transaction),
            queue=QueueOverview(**await transaction.one("observing.queue")),
            events=EventOverview(**await transaction.one("observing.events")),
            consolidation=ConsolidationOverview(**await transaction.one("consolidation.lag")),
            awaiting_embedding_count=awaiting["awaiting_embedding_count"],
            archived_per_day=await _archived_per_day(transaction),
        )


async def read_snapshots(core: Core, *, refresh: bool) -> list[Snapshot]:
    """The stored snapshots of the tenant's views; `refresh` replaces them first."""
    database = core.storage.tenant_database
    if refresh:
        await refresh_snapshots(database)
    async with database.transaction() as transaction:
        return [Snapshot(**row) for row in await transaction.rows("housekeeping.snapshots")]


async def _latency_24h(transaction: Transaction) -> dict[str, Latency]:
    rows = await transaction.rows("observing.latency")
    return {row["operation"]: _logged_latency(row) for row in rows}


def _logged_latency(row: Row) -> Latency:
    return Latency(
        call_count=row["call_count"],
        failed_count=0,  # A failed call writes no row to the log.
        refused_count=row["refused_count"],
        p50_ms=row["p50_ms"],
        p95_ms=row["p95_ms"],
        p99_ms=row["p99_ms"],
    )


async def _archived_per_day(transaction: Transaction) -> dict[str, int]:
    for row in await transaction.rows("housekeeping.snapshots"):
        if row["name"] == "growth_7d":
            return {day["day"]: day["archived_count"] for day in row["rows"]}
    return {}
