"""Collecting candidates: runs the searches of every readable owner beside each other and beside the embedder.

For each owner: look up the query's terms, entities and times, then search by words. None of this needs the
query's vector, so it runs while the query is embedded. When the vector is there, the semantic search starts,
whether or not the lexical search has ended; the lexical matches are merged into the pool while it runs.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnemic.db.database import TenantDatabase
from mnemic.govern.shares import readable_grants
from mnemic.recall.candidates.lexical import LexicalMatches, search_lexical
from mnemic.recall.candidates.owner_lookup import OwnerLookup, look_up_owner
from mnemic.recall.candidates.pool import CandidatePool, PoolBuilder
from mnemic.recall.candidates.semantic import SemanticMatches, search_semantic
from mnemic.recall.query_analysis import QueryAnalysis
from mnemic.recall.query_embedding import EmbeddingResult, QueryEmbedding
from mnemic.recall.readable_owners import OWNERS_MAX, granting_owners, requesting_owner
from mnemic.recall.request import Request
from mnemic.recall.stage_timer import StageTimer
from mnemic.recall.tasks import task_scope


@dataclass(frozen=True)
class Candidates:
    """A pool for each readable owner, and the query's embedding, if there is one."""

    pools: Sequence[CandidatePool]
    embedding: QueryEmbedding | None
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
    embedding: Coroutine[Any, Any, EmbeddingResult],
    timer: StageTimer,
) -> Candidates:
    """Search all readable owners. `embedding` is started as a task. Raises ModelChanged."""
    async with task_scope() as start:
        embedding_task = start(embedding)
        lookups, notes = await start(_look_up_owners(database, request, analysis, timer))
        lexical = [start(search_lexical(database, lookup, request, timer)) for lookup in lookups]
        embedded = await embedding_task
        vector = embedded.embedding
        semantic = [start(search_semantic(database, lookup, request, vector, timer)) for lookup in lookups]
        await asyncio.sleep(0)  # Let the semantic searches send their statements before the CPU is busy.
        pools = [
            await _pool(lookup, request, vector, by_words, by_vector)
            for lookup, by_words, by_vector in zip(lookups, lexical, semantic, strict=True)
        ]
    return Candidates(pools, vector, (*notes, *embedded.notes))


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


async def _pool(
    lookup: OwnerLookup,
    request: Request,
    embedding: QueryEmbedding | None,
    lexical: Awaitable[LexicalMatches],
    semantic: Awaitable[SemanticMatches],
) -> CandidatePool:
    builder = PoolBuilder(lookup, request, embedding, await lexical)
    return builder.build(await semantic)
