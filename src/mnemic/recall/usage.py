"""What a recall records about itself: the recall counts of its hits and, if reads are logged, a log entry."""

from mnemic.govern.memory_log import log_read
from mnemic.recall.request import Request
from mnemic.runtime.core import RECALL_COUNTS, Caller, Core
from mnemic.types.recalled import Recalled
from mnemic.types.traces import LogEntry


async def record_recall(caller: Caller, request: Request, recalled: Recalled, duration_ms: float) -> None:
    """Log the call, and count its hits."""
    await log_recall(caller, request, recalled, duration_ms)
    count_recalled(caller.core, recalled)


def count_recalled(core: Core, recalled: Recalled) -> None:
    """Count the hits in memory, and have a background task write the counts when there are enough."""
    if core.recall_counts.count([hit.memory.memory_id for hit in recalled]):
        core.background_tasks.request(RECALL_COUNTS, core.write_recalled_counts)


async def log_recall(caller: Caller, request: Request, recalled: Recalled, duration_ms: float) -> None:
    """Log the call if the log level includes reads; the default level does not."""
    level = caller.core.settings.memory_log
    if level not in ("reads", "verbose"):
        return
    entry = LogEntry(
        operation="recall",
        owner=request.scope.require_owner(),
        channel=request.scope.channel,
        process=request.scope.process,
        conversation=request.filter.conversation,
        memory_count=len(recalled),
        duration_ms=duration_ms,
        detail={
            "refused": recalled.refused,
            "outcome": recalled.outcome,
            "confidence": round(recalled.confidence, 3),
            "counts": dict(recalled.counts),
            "cross_channel": sum(hit.memory.channel != request.scope.channel for hit in recalled),
        },
        payload={"query": recalled.query, "hits": [str(hit.memory.memory_id) for hit in recalled]},
    )
    async with caller.database.transaction() as transaction:
        await log_read(transaction, level, entry)
