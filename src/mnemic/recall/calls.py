"""Recalling, put together: the pipeline with the models, the grants, the names and times of this memory."""

import time
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.vectors import ModelChanged
from mnemic.embeddings.indexes import index_owner
from mnemic.errors import ConflictError
from mnemic.govern.memory_log import log_read
from mnemic.govern.shares import readable_grants
from mnemic.knowledge.entity_lookup import entities_named
from mnemic.models.tokens import count_tokens
from mnemic.recall.candidates.pool import Wish
from mnemic.recall.pipeline import Collaborators, recall
from mnemic.recall.query_analysis import FoundTime
from mnemic.recall.request import Request
from mnemic.runtime.core import RECALL_COUNTS, Caller, Core
from mnemic.runtime.serving_model import serving_embedder
from mnemic.text_analysis.detect import detect_times
from mnemic.types.recalled import Recalled
from mnemic.types.traces import LogEntry

MODEL_CHANGES_MAX = 3


async def recall_request(caller: Caller, request: Request) -> Recalled:
    """Recall, log it if reads are logged, and count what was recalled."""
    started_s = time.perf_counter()
    with caller.core.call_metrics.call("recall") as call:
        found = await _recall(caller, request)
        call.refused, call.memory_count = found.refused, len(found)
    await _log(caller.database, caller, request, found, (time.perf_counter() - started_s) * 1000)
    if caller.core.recall_counts.count([hit.memory.memory_id for hit in found]):
        caller.core.background_tasks.request(RECALL_COUNTS, caller.core.write_recalled_counts)
    return found


async def _recall(caller: Caller, request: Request) -> Recalled:
    """Recall by the model that serves; again if another one serves by the time that the query is embedded."""
    for _ in range(MODEL_CHANGES_MAX):
        try:
            return await recall(caller.database, request, await _collaborators(caller))
        except ModelChanged as change:
            caller.core.serving_model = change.model
    raise ConflictError("The embedding model was changed several times during one recall. Try again.")


async def _collaborators(caller: Caller) -> Collaborators:
    core = caller.core
    return Collaborators(
        embedder=await serving_embedder(core),
        find_times=_find_times,
        named_entities=entities_named,
        readable_grants=readable_grants,
        count_tokens=count_tokens,
        language_model=core.language_model,
        language_timeout_s=core.settings.llm_timeout_s,
        reranker=core.reranker,
        refuse_below=core.settings.refuse_below,
        wish=partial(_request_upkeep, core),
    )


def _request_upkeep(core: Core, wish: Wish) -> None:
    """Have done in the background what would make the next recall of an owner faster."""
    if wish.statistics:
        core.background_tasks.request(
            ("word statistics", wish.owner), partial(refresh_statistics, core, wish.owner)
        )
    if wish.vector_index:
        core.background_tasks.request(("vector index", wish.owner), partial(index_owner, core, wish.owner))


async def refresh_statistics(core: Core, owner: str) -> int:
    """Count an owner's memories and words anew; returns how many memories there are."""

    async def refresh(transaction: Transaction) -> int:
        row = await transaction.one("recall.refresh_statistics", {"owner": owner})
        return int(row["memory_count"])

    return await core.storage.tenant_database.run(refresh)


def _find_times(text: str, moment: datetime) -> Sequence[FoundTime]:
    return [FoundTime(time.start, time.end, time.value) for time in detect_times(text, moment=moment)]


async def _log(
    database: TenantDatabase, caller: Caller, request: Request, found: Recalled, duration_ms: float
) -> None:
    """Log the call where the level asks for it; at the usual level nothing is written."""
    level = caller.core.settings.memory_log
    if level not in ("reads", "verbose"):
        return
    entry = LogEntry(
        operation="recall",
        owner=request.scope.require_owner(),
        channel=request.scope.channel,
        process=request.scope.process,
        conversation=request.filter.conversation,
        memory_count=len(found),
        duration_ms=duration_ms,
        detail={
            "refused": found.refused,
            "confidence": round(found.confidence, 3),
            "counts": dict(found.counts),
            "cross_channel": sum(hit.memory.channel != request.scope.channel for hit in found),
        },
        payload={"query": found.query, "hits": [str(hit.memory.memory_id) for hit in found]},
    )
    async with database.transaction() as transaction:
        await log_read(transaction, level, entry)
