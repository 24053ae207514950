"""Collecting candidates: runs the searches of every readable owner beside each other and beside the embedder.

For each owner: look up the query's terms, entities and times, then search by words. None of this needs the
query's vector, so it runs while the query is embedded. When both are done, one statement searches by vector
and reads the features of all candidates: a statement costs more than the time that a second one would save.
If the lookup corrects typing errors, the corrected query is embedded instead.
"""

from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnemic.db.database import TenantDatabase
from mnemic.govern.shares import readable_grants
from mnemic.recall.candidates.lexical import search_lexical
from mnemic.recall.candidates.owner_lookup import OwnerLookup, look_up_owner
from mnemic.recall.candidates.pool import CandidatePool, build_pool
from mnemic.recall.candidates.semantic import search_semantic
from mnemic.recall.query_analysis import QueryAnalysis
from mnemic.recall.query_embedding import EmbeddingResult, QueryEmbedding
from mnemic.recall.readable_owners import OWNERS_MAX, granting_owners, requesting_owner
from mnemic.recall.request import Request
from mnemic.recall.spelling import Correction, corrected
from mnemic.recall.stage_timer import StageTimer
from mnemic.recall.tasks import task_scope


@dataclass(frozen=True)
class Candidates:
    """A pool for each readable owner, and the query's embedding, if there is one.

    `corrections` are the typing errors that were corrected in the query itself.
    """

    pools: Sequence[CandidatePool]
    embedding: QueryEmbedding | None
    corrections: Sequence[Correction]
    notes: tuple[str, ...]

    @property
    def model(self) -> str | None:
        """The model that embedded the query."""
        return self.embedding.model if self.embedding is not None else None

    @property
    def counts(self) -> Mapping[str, int]:
        """How many candidates each technique found, over all pools."""
        counts: Counter[str] = Counter()
        for pool in self.pools:
            counts.update(pool.counts)
        return dict(counts)


async def collect_candidates(
    database: TenantDatabase,
    request: Request,
    analysis: QueryAnalysis,
    embed: Callable[[str], Coroutine[Any, Any, EmbeddingResult]],
    timer: StageTimer,
) -> Candidates:
    """Search all readable owners. `embed` embeds the query's topic. Raises ModelChanged."""
    async with task_scope() as start:
        embedding_task = start(embed(analysis.topic))
        lookups, notes = await start(_look_up_owners(database, request, analysis, timer))
        corrections = _common_corrections(lookups)
        if corrections:
            embedding_task.cancel()
            embedding_task = start(embed(corrected(analysis.topic, corrections)))
        lexical = [start(search_lexical(database, lookup, request, timer)) for lookup in lookups]
        embedded = await embedding_task
        vector = embedded.embedding
        semantic = [
            start(search_semantic(database, lookup, request, vector, by_words, timer))
            for lookup, by_words in zip(lookups, lexical, strict=True)
        ]
        pools = [
            build_pool(lookup, request, await by_words, await by_vector)
            for lookup, by_words, by_vector in zip(lookups, lexical, semantic, strict=True)
        ]
    return Candidates(pools, vector, corrections, (*notes, *embedded.notes, *map(_note, corrections)))


async def _look_up_owners(
    database: TenantDatabase, request: Request, analysis: QueryAnalysis, timer: StageTimer
) -> tuple[list[OwnerLookup], tuple[str, ...]]:
    """The lookup of each readable owner, and a note if there are too many of them."""
    own = await look_up_owner(database, requesting_owner(request), request, analysis, timer)
    if not own.terms.has_grants:
        return [own], ()
    async with database.transaction() as transaction:
        grants = await readable_grants(transaction, own.readable.owner)
    granting = granting_owners(request, grants)
    most = OWNERS_MAX - 1
    lookups = [
        await look_up_owner(database, readable, request, analysis, timer) for readable in granting[:most]
    ]
    note = f"{len(granting) - most} grants were left out: a recall looks at {most} at most."
    return [own, *lookups], (note,) if len(granting) > most else ()


def _common_corrections(lookups: Sequence[OwnerLookup]) -> list[Correction]:
    """The corrections of the words that no readable owner knows, those by known words first."""
    found: dict[str, Correction] = {}
    for lookup in lookups:
        for correction in lookup.terms.corrections:
            known = found.get(correction.word)
            if known is None or (correction.is_known and not known.is_known):
                found[correction.word] = correction
    return [
        correction
        for word, correction in found.items()
        if all(word in lookup.terms.unknown for lookup in lookups)
    ]


def _note(correction: Correction) -> str:
    return f"{correction.word!r} was read as {correction.replacement!r}."
