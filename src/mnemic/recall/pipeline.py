"""The story of `recall`: from a query to the memories that matter, or to an honest refusal.

1. **Understand** the query: its matter, times, phrases, whose words it is about (`understand`); with an LLM
   also other wordings, a likely answer, filters (`rephrase`).
2. **Look up** candidates by words, names and times (`words`, `search`) while the query is **embedded** and
   then **searched for by meaning**.
3. Gather the **pool**: all candidates and the turns around the best (`search`, `pool`).
4. **Rank** the pool: evidence of each memory's own, from around it, and what is known about it (`score`).
5. **Refuse** if nothing stored is close enough (`refuse`).
6. **Choose** the best, not too many of one conversation, let a reranker turn their order, if there is one.
7. **Pack** them into the budget of tokens (`pack`); without one, when the text is first read.

The database is asked by statements that are transactions by themselves: none waits for a model. Step 2 brings
all that ranking looks at, and the memories themselves; only long ones are read when chosen (`records`).
Each owner that a grant lets in is searched like the own one, by its own statistics, so that scores compare.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.id_arrays import IdArray, Key
from mnemic.db.vectors import Vectors
from mnemic.errors import EmbeddingError, LanguageModelError
from mnemic.models.language import LanguageModel
from mnemic.models.reranking import RERANK_MAX, Reranker
from mnemic.recall.choose import Choice, choose, explain, reordered
from mnemic.recall.clock import Clock
from mnemic.recall.pack import Packed, line_of, pack, pack_all
from mnemic.recall.pool import Pool, Wish
from mnemic.recall.records import records_of
from mnemic.recall.refuse import REFUSE_BELOW, confidence, reason
from mnemic.recall.rephrase import Rephrased, rephrase
from mnemic.recall.request import Request
from mnemic.recall.score import Ranking, rank
from mnemic.recall.search import Lead, NamedEntities, QueryVector, find_near, look_up, pool_of, see
from mnemic.recall.source import SOURCES_MAX, own_source, shared_sources
from mnemic.recall.understand import FindTimes, Question, understand
from mnemic.types.memory import MemoryRecord
from mnemic.types.recalled import Hit, Recalled, packed_later
from mnemic.types.share import ReadableGrant

Result = TypeVar("Result")


class QueryEmbedder(Protocol):
    """What recall needs of an embedder."""

    @property
    def name(self) -> str:
        """The model's name; two models never share one."""

    async def embed_query(self, text: str) -> Vectors:
        """The vector of a query, or EmbeddingError."""


@dataclass(frozen=True)
class Collaborators:
    """What the pipeline calls in other packages of its own layer; the SDK brings them together."""

    embedder: QueryEmbedder
    find_times: FindTimes
    named_entities: NamedEntities
    readable_grants: Callable[[Transaction, str], Awaitable[Sequence[ReadableGrant]]]
    count_tokens: Callable[[str], int]
    language_model: LanguageModel | None = None
    language_timeout_s: float = 5.0
    reranker: Reranker | None = None
    wish: Callable[[Wish], None] = lambda wish: None
    refuse_below: float | None = None


async def recall(database: TenantDatabase, request: Request, collaborators: Collaborators) -> Recalled:
    """Find what matters for a query."""
    clock = Clock()
    rephrased = await _rephrase(request, collaborators, clock)
    request = _restricted(request, rephrased)
    with clock.measure("understand"):
        question = understand(request.query, request.asked_at, collaborators.find_times)
    async with _tasks() as start:
        embedding = start(_embed(request, question, rephrased, collaborators.embedder, clock))
        looked_up = await start(_look_up(database, request, question, collaborators, clock))
        seeing = [start(see(database, lead, request, clock)) for lead in looked_up.leads]
        query = await embedding
        nearing = [start(find_near(database, lead, request, query.vector, clock)) for lead in looked_up.leads]
        await asyncio.sleep(0)  # What is searched for by meaning is on its way before anything is computed.
        pools = [
            await pool_of(lead, request, query.vector, seen, near)
            for lead, seen, near in zip(looked_up.leads, seeing, nearing, strict=True)
        ]
        found = await _choose(database, request, question, pools, query, collaborators, clock)
        answer = await _answered(found, request, collaborators, clock)
    notes = (*request.notes, *rephrased.notes, *looked_up.notes, *answer.notes)
    answer = replace(answer, notes=notes, timings=clock.timings())
    if answer.refused or request.max_tokens is not None:
        return answer
    return packed_later(answer, partial(pack_all, count_tokens=collaborators.count_tokens))


@dataclass(frozen=True)
class _EmbeddedQuery:
    """The query's vector, or why there is none."""

    vector: QueryVector | None
    note: str | None = None


@dataclass(frozen=True)
class _Found:
    """What the database had for a query, ranked, and the answer without its hits."""

    pools: Sequence[Pool]
    chosen: Sequence[Choice]
    answer: Recalled
    records: Mapping[Key, MemoryRecord]
    entities: Mapping[Key, tuple[str, ...]]


@dataclass(frozen=True)
class _LookedUp:
    """What is known of every source before it is searched by words and meaning."""

    leads: Sequence[Lead]
    notes: tuple[str, ...] = ()


async def _choose(
    database: TenantDatabase,
    request: Request,
    question: Question,
    pools: Sequence[Pool],
    query: _EmbeddedQuery,
    collaborators: Collaborators,
    clock: Clock,
) -> _Found:
    """Rank, decide whether to refuse, and read what was chosen."""
    with clock.measure("rank"):
        rankings = [rank(pool, question, request.moment.timestamp()) for pool in pools]
        chosen = choose(pools, rankings, max(request.limit, _judged(collaborators)))
        answer = _answer(request, collaborators, question, pools, rankings, query)
    with clock.measure("records"):
        records = await records_of(database, request, () if answer.refused else chosen)
        entities = await _entities(database, request, records)
    return _Found(pools, chosen, answer, records, entities)


async def _answered(found: _Found, request: Request, collaborators: Collaborators, clock: Clock) -> Recalled:
    """The answer with its hits."""
    for pool in found.pools:
        collaborators.wish(pool.wish)
    if found.answer.refused:
        return found.answer
    # What was erased in between is gone.
    chosen = [choice for choice in found.chosen if choice.key in found.records]
    ordered, notes = await _rerank(request, collaborators.reranker, chosen, found.records, clock)
    with clock.measure("pack"):
        hits = [_hit(choice, found, request) for choice in ordered[: request.limit]]
        answer = replace(found.answer, hits=tuple(hits), notes=(*found.answer.notes, *notes))
        if request.max_tokens is None:
            return answer
        return _within(answer, pack(hits, request.max_tokens, collaborators.count_tokens))


class _Start(Protocol):
    """Starts some work beside the block."""

    def __call__(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]: ...


@asynccontextmanager
async def _tasks() -> AsyncIterator[_Start]:
    """Work can be started beside the block; all of it ends with the block at the latest."""
    tasks: list[asyncio.Task[Any]] = []

    def start(work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        task = asyncio.create_task(work)
        tasks.append(task)
        return task

    try:
        yield start
    except BaseException:
        await _end(tasks)
        raise
    # Mostly the block has waited for all of them itself: once more would take another turn of the loop.
    await _end([task for task in tasks if not task.done()])


async def _end(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.gather(*tasks, return_exceptions=True)


async def _rephrase(request: Request, collaborators: Collaborators, clock: Clock) -> Rephrased:
    rephrased = await rephrase(
        collaborators.language_model,
        request.query,
        request.techniques,
        now=request.asked_at,
        timeout_s=collaborators.language_timeout_s,
    )
    for technique, time_ms in rephrased.timings_ms.items():
        clock.add(technique, time_ms)
    return rephrased


def _restricted(request: Request, rephrased: Rephrased) -> Request:
    """The request with the filters that the query itself states, where the caller set none."""
    stated = rephrased.restriction
    if stated is None:
        return request
    wanted = request.filter
    narrowed = replace(
        wanted,
        categories=wanted.categories or stated.categories or None,
        tags=wanted.tags or stated.tags or None,
        since=wanted.since if wanted.since or wanted.until else stated.since,
        until=wanted.until if wanted.since or wanted.until else stated.until,
    )
    return replace(request, query=stated.query, filter=narrowed)


async def _look_up(
    database: TenantDatabase,
    request: Request,
    question: Question,
    collaborators: Collaborators,
    clock: Clock,
) -> _LookedUp:
    """What every source has by words, names and times; and a note if there are too many sources."""
    named_entities = collaborators.named_entities
    own = await look_up(database, own_source(request), request, question, named_entities, clock)
    if not own.search.known.has_grants:
        return _LookedUp([own])
    async with database.transaction() as transaction:
        grants = await collaborators.readable_grants(transaction, own.source.owner)
    shared = shared_sources(request, grants)
    most = SOURCES_MAX - 1
    leads = [
        await look_up(database, source, request, question, named_entities, clock) for source in shared[:most]
    ]
    note = f"{len(shared) - most} grants were left out: a recall looks at {most} at most."
    return _LookedUp([own, *leads], (note,) if len(shared) > most else ())


async def _embed(
    request: Request, question: Question, rephrased: Rephrased, embedder: QueryEmbedder, clock: Clock
) -> _EmbeddedQuery:
    """The mean of the vectors of the query's matter and what an LLM made of it. A model may fail."""
    if "vector" not in request.techniques:
        return _EmbeddedQuery(None)
    texts = [question.matter, *rephrased.wordings, *([rephrased.passage] if rephrased.passage else [])]
    with clock.measure("embed"):
        try:
            vectors = [await embedder.embed_query(text) for text in texts]
        except EmbeddingError as error:
            return _EmbeddedQuery(None, f"vector was left out: {error}")
    mean = np.mean(vectors, axis=0) if len(vectors) > 1 else vectors[0]
    return _EmbeddedQuery(QueryVector(embedder.name, mean / (np.linalg.norm(mean) or 1.0)))


def _answer(
    request: Request,
    collaborators: Collaborators,
    question: Question,
    pools: Sequence[Pool],
    rankings: Sequence[Ranking],
    query: _EmbeddedQuery,
) -> Recalled:
    """The answer without its hits: a refusal, if nothing stored is close enough."""
    model = query.vector.model if query.vector is not None else None
    sure = confidence(pools, rankings, question, model)
    thresholds = (request.refuse_below, collaborators.refuse_below, REFUSE_BELOW)
    threshold = next(threshold for threshold in thresholds if threshold is not None)
    is_empty = not any(len(pool) for pool in pools)
    has_memories = any(pool.words.known.memory_count for pool in pools)
    unknown_owner = None if has_memories else request.scope.owner
    refused = is_empty or sure < threshold
    return Recalled(
        query=request.query,
        refused=refused,
        reason=reason(sure, threshold, is_empty=is_empty, unknown_owner=unknown_owner) if refused else None,
        confidence=sure,
        counts=_counted(pools),
        notes=(query.note,) if query.note else (),
    )


def _counted(pools: Sequence[Pool]) -> dict[str, int]:
    """How many candidates each technique brought, over all sources."""
    counts: Counter[str] = Counter()
    for pool in pools:
        counts.update(pool.counts)
    return dict(counts)


async def _entities(
    database: TenantDatabase, request: Request, records: Mapping[Key, MemoryRecord]
) -> dict[Key, tuple[str, ...]]:
    """With `include`, the names of the entities that each memory mentions."""
    if "entities" not in request.include or not records:
        return {}
    async with database.transaction() as transaction:
        rows = await transaction.keyed_rows("recall.entity_names", {"ids": IdArray(records)})
    return {row["memory_id"].bytes: tuple(row["names"]) for row in rows}


def _judged(collaborators: Collaborators) -> int:
    """How many hits a reranker looks at."""
    return RERANK_MAX if collaborators.reranker is not None else 0


async def _rerank(
    request: Request,
    reranker: Reranker | None,
    chosen: Sequence[Choice],
    records: Mapping[Key, MemoryRecord],
    clock: Clock,
) -> tuple[Sequence[Choice], tuple[str, ...]]:
    """The chosen ones in the order of the reranker, if there is one and it answers."""
    if reranker is None:
        return chosen, ()
    with clock.measure("rerank"):
        try:
            texts = [line_of(records[choice.key]) for choice in chosen]
            scores = await reranker.rerank(request.query, texts)
        except LanguageModelError as error:
            return chosen, (f"The reranker was left out: {error}",)
    return reordered(chosen, scores), ()


def _hit(choice: Choice, found: _Found, request: Request) -> Hit:
    memory = found.records[choice.key]
    around = choice.neighbours if "neighbours" in request.include else ()
    return Hit(
        memory=memory,
        score=choice.score,
        explain=explain(choice, memory.evidence) if request.explain else None,
        neighbours=tuple(found.records[key] for key in around if key in found.records),
        entities=found.entities.get(choice.key, ()),
    )


def _within(answer: Recalled, packed: Packed) -> Recalled:
    """The answer with the text that fits into the budget, and a note if not all of it does."""
    notes = answer.notes
    if packed.left_out_count:
        notes = (*notes, f"{packed.left_out_count} of the hits did not fit into max_tokens.")
    return replace(answer, text=packed.text, token_count=packed.token_count, notes=notes)
