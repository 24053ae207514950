"""Hits: selected candidates with their records, and why each was found."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from uuid import UUID

from mnemic.db.database import TenantDatabase
from mnemic.db.id_arrays import IdArray, Key
from mnemic.recall.candidates.outdated import LIKELY_CERTAINTY
from mnemic.recall.ranking import conversation_terms
from mnemic.recall.refusal import Decision
from mnemic.recall.request import Request
from mnemic.recall.selection import RankedCandidate
from mnemic.types.memory import MemoryRecord
from mnemic.types.recalled import Explanation, Hit


def make_hits(
    candidates: Iterable[RankedCandidate],
    records: Mapping[Key, MemoryRecord],
    entity_names: Mapping[Key, tuple[str, ...]],
    request: Request,
) -> tuple[Hit, ...]:
    """A hit for each candidate, in order, with what `explain` and `include` ask for."""
    return tuple(_hit(candidate, records, entity_names, request) for candidate in candidates)


def drop_low_scores(
    candidates: Sequence[RankedCandidate], min_score: float | None, decision: Decision
) -> tuple[Sequence[RankedCandidate], Decision]:
    """The candidates with at least this score; a refusal if there were some and none has it."""
    if min_score is None or not candidates:
        return candidates, decision
    kept = [candidate for candidate in candidates if candidate.score >= min_score]
    if kept:
        return kept, decision
    best = max(candidate.score for candidate in candidates)
    reason = f"No memory has a score of min_score ({min_score:.2f}) or more; the best has {best:.2f}."
    return (), decision.without_hits(reason)


async def read_entity_names(
    database: TenantDatabase, request: Request, records: Mapping[Key, MemoryRecord]
) -> dict[Key, tuple[str, ...]]:
    """The names of the entities that each memory mentions, if `include` asks for them.

    Only for the caller's own memories: a grant opens memories, not the giver's entities.
    """
    owner = request.scope.require_owner()
    own = [key for key, record in records.items() if record.owner == owner]
    if "entities" not in request.include or not own:
        return {}
    async with database.transaction() as transaction:
        rows = await transaction.binary_rows("recall.entity_names", {"ids": IdArray(own)})
    return {row["memory_id"].bytes: tuple(row["names"]) for row in rows}


def _hit(
    candidate: RankedCandidate,
    records: Mapping[Key, MemoryRecord],
    entity_names: Mapping[Key, tuple[str, ...]],
    request: Request,
) -> Hit:
    memory = records[candidate.key]
    neighbours = candidate.neighbours if "neighbours" in request.include else ()
    return Hit(
        memory=memory,
        score=candidate.score,
        explain=_explain(candidate, memory.evidence) if request.explain else None,
        neighbours=tuple(records[key] for key in neighbours if key in records),
        entities=entity_names.get(candidate.key, ()),
        outdated_since=_outdated_since(candidate),
    )


def _explain(candidate: RankedCandidate, evidence: Sequence[str]) -> Explanation:
    """Which searches found this memory, and the parts of its score."""
    pool, index = candidate.pool, candidate.index
    conversation = pool.conversations[index]
    cosine = float(pool.cosines[index])
    scores = candidate.ranking.parts_of(index)
    if candidate.reranked is not None:
        scores["reranker"] = candidate.reranked
    in_conversation = conversation_terms(pool).get(conversation, 0) if conversation else 0
    return Explanation(
        found_by=pool.found_by[index],
        scores=scores,
        fused=round(candidate.fused, 3),
        cosine=round(cosine, 4) if cosine == cosine else None,
        words=pool.lexical.terms_in(pool.terms[index]),
        conversation=conversation,
        conversation_words=pool.lexical.terms_in(in_conversation),
        neighbours=tuple(UUID(bytes=key) for key in candidate.neighbours),
        evidence=tuple(evidence),
        grant_id=pool.readable.grant_id,
        corrections=tuple(map(str, pool.lexical.terms.corrections)),
        outdated_reason=pool.outdated[index].reason if index in pool.outdated else None,
    )


def _outdated_since(candidate: RankedCandidate) -> datetime | None:
    """When the memory happened or was stored that outdates the candidate; None unless that is likely."""
    mark = candidate.pool.outdated.get(candidate.index)
    if mark is None or mark.certainty < LIKELY_CERTAINTY:
        return None
    return datetime.fromtimestamp(float(candidate.pool.happened_at_s[mark.newer]), UTC)
