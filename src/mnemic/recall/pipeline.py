"""The read path: from a query to hits, or to a refusal. One call for each stage.

The database runs self-contained statements, each a transaction: no transaction stays open while a model
works. `collect_candidates` reads everything that ranking needs, and short memories themselves;
`read_records` reads the long ones among the selected. What a grant opens is searched by itself, and its
scores are standardised by itself, so that scores compare (`candidates/granted.py`).
"""

from functools import partial

from mnemic.models.embedding import TextEmbedder
from mnemic.recall.bridging import bridge_joins
from mnemic.recall.candidates.collection import collect_candidates
from mnemic.recall.hits import drop_low_scores, make_hits, read_entity_names
from mnemic.recall.index_maintenance import request_index_maintenance
from mnemic.recall.overview import overview_pools, rank_pools, widened
from mnemic.recall.packing import Packing
from mnemic.recall.query_analysis import analyse_query
from mnemic.recall.query_embedding import embed_query, with_serving_embedder
from mnemic.recall.query_expansion import expand_query
from mnemic.recall.records import read_records
from mnemic.recall.refusal import decide_outcome, refusal_threshold
from mnemic.recall.request import Request
from mnemic.recall.reranking import rerank, rerank_limit
from mnemic.recall.selection import select_candidates
from mnemic.recall.spelling import with_corrected_words
from mnemic.recall.stage_timer import StageTimer
from mnemic.recall.usage import record_recall
from mnemic.runtime.core import Caller
from mnemic.types.recalled import Recalled


async def recall_request(caller: Caller, request: Request) -> Recalled:
    """Answer a request with the embedding model that serves the tenant; count the hits and log the call."""
    timer = StageTimer()
    with caller.core.measured_call("recall") as call:
        call.is_recorded = request.record
        recalled = await recall_unrecorded(caller, request)
        call.refused, call.weak = recalled.refused, recalled.outcome == "weak"
        call.memory_count, call.confidence = len(recalled), recalled.confidence
    if request.record:
        await record_recall(caller, request, recalled, timer.elapsed_ms)
    return recalled


async def recall_unrecorded(caller: Caller, request: Request) -> Recalled:
    """Answer a request of another feature, which is no recall of a user: it is not counted anywhere."""
    return await with_serving_embedder(caller.core, partial(_recall, caller, request))


async def _recall(caller: Caller, request: Request, embedder: TextEmbedder) -> Recalled:
    core, database, timer = caller.core, caller.database, StageTimer()

    expansion = await expand_query(core.language_model, request, core.settings.llm_timeout_s, timer)
    request = expansion.applied_to(request)
    with timer.measure("understand"):
        analysis = analyse_query(request.query, request.asked_at)

    embed = partial(embed_query, core, embedder, request, expansion.texts, timer)
    candidates = await collect_candidates(database, widened(request, analysis), analysis, embed, timer)
    analysis = with_corrected_words(analysis, candidates.corrections)
    pools, analysis = overview_pools(candidates.pools, analysis)
    request_index_maintenance(core, pools)

    with timer.measure("rank"):
        rankings = rank_pools(pools, analysis, request.moment.timestamp())
    pools, rankings = await bridge_joins(
        database, request, analysis, pools, rankings, candidates.embedding, timer
    )
    with timer.measure("rank"):
        threshold = refusal_threshold(request.refuse_below, core.settings.refuse_below, strict=request.strict)
        decision = decide_outcome(pools, rankings, analysis, candidates.model, request.scope.owner, threshold)
        limit = max(request.limit, rerank_limit(core.reranker))
        selected = [] if decision.refused else select_candidates(pools, rankings, limit)

    with timer.measure("records"):
        records = await read_records(database, request, selected)
        entity_names = await read_entity_names(database, request, records)
    reranked = await rerank(
        core.reranker if analysis.overview is None else None, request.query, selected, records, timer
    )

    with timer.measure("pack"):
        ranked, decision = drop_low_scores(reranked.candidates, request.min_score, decision)
        hits = make_hits(ranked[: request.limit], records, entity_names, request)
        packing = Packing(request.scope.owner, decision.outcome, decision.confidence)
        packed = packing.pack(hits, request.max_tokens)

    recalled = Recalled(
        query=request.query,
        hits=hits,
        outcome=decision.outcome,
        refused=decision.refused,
        reason=decision.reason,
        confidence=decision.confidence,
        threshold=decision.threshold,
        confidence_parts=decision.parts if request.explain else None,
        text=packed.text,
        token_count=packed.token_count,
        timings=timer.timings(),
        counts=candidates.counts,
        notes=(*request.notes, *expansion.notes, *candidates.notes, *reranked.notes, *packed.notes),
    )
    return recalled if request.max_tokens is not None else packing.on_first_read(recalled)
