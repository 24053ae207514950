"""Reranking: an optional model reorders the selected candidates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mnemic.db.id_arrays import Key
from mnemic.errors import LanguageModelError
from mnemic.models.reranking import Reranker, points_of, texts_max
from mnemic.recall.packing import prompt_line
from mnemic.recall.ranking import score
from mnemic.recall.selection import RankedCandidate
from mnemic.recall.stage_timer import StageTimer
from mnemic.types.memory import MemoryRecord


@dataclass(frozen=True)
class Reranked:
    """Candidates in their final order; a note if the reranker failed."""

    candidates: Sequence[RankedCandidate]
    notes: tuple[str, ...] = ()


def rerank_limit(reranker: Reranker | None) -> int:
    """How many candidates the reranker scores."""
    return texts_max(reranker) if reranker is not None else 0


async def rerank(
    reranker: Reranker | None,
    query: str,
    selected: Sequence[RankedCandidate],
    records: Mapping[Key, MemoryRecord],
    timer: StageTimer,
) -> Reranked:
    """Order the candidates by the reranker's scores; equal scores keep their order.

    A reranker may add to recall's own scores instead. Candidates beyond those that it scores follow in their
    order, with no higher score. Without a reranker, or if it fails, the order stays. Memories that
    were erased since they were found have no record and are left out.
    """
    present = [candidate for candidate in selected if candidate.key in records]
    if reranker is None or not present:
        return Reranked(present)
    most = texts_max(reranker)
    with timer.measure("rerank"):
        try:
            lines = [prompt_line(records[candidate.key]) for candidate in present[:most]]
            scores = await reranker.rerank(query, lines)
        except LanguageModelError as error:
            return Reranked(present, (f"The reranker was left out: {error}",))
    points = points_of(reranker)
    scored = [
        replace(each, reranked=given if points is None else score(each.fused + points * given))
        for each, given in zip(present[:most], scores, strict=True)
    ]
    ranked = sorted(scored, key=lambda candidate: -candidate.score)
    others = [replace(each, reranked=min(each.score, ranked[-1].score)) for each in present[most:]]
    return Reranked([*ranked, *others])
