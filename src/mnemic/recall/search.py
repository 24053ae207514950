"""Looking for candidates, source by source: by words, names and times first, then by meaning.

The first part needs no vector and runs while the query is being embedded; the second one begins when both are
there. Each technique brings at most `request`-dependent many candidates; together with the turns around them
they make the pool that is ranked.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import perf_counter
from typing import Any
from uuid import UUID

import numpy as np

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.db.vector_index import INDEX_MIN_ROWS, Nearest, Usual
from mnemic.db.vector_pool import NearPool, near_pool
from mnemic.db.vectors import ModelChanged, Vectors, VectorTable, cosines_of
from mnemic.recall.clock import Clock
from mnemic.recall.pool import Floats, Pool, Wish, columns_of, evidence_parameters
from mnemic.recall.request import Request
from mnemic.recall.source import Source
from mnemic.recall.understand import Question
from mnemic.recall.words import Words, find_by_words

CANDIDATES_MIN = 30
CANDIDATES_PER_HIT = 1.5
EXPANDED_MIN = 5
EXPANDED_PER_HIT = 0.5
CANDIDATES_MAX = 400
FILTERED_MAX = 2_000
"""Memories that are compared one by one when a filter leaves no more than these."""
WINDOW_MAX = 500
BY_TIME_MAX = 50
# What is usual for cosines before anything is known, and how many memories that is worth.
USUAL_COSINE = 0.12
USUAL_DEVIATION = 0.11
PRIOR_MEMORIES = 20.0
DEVIATION_MIN = 0.001

NamedEntities = Callable[[Transaction, str, str], Awaitable[Sequence[UUID]]]


@dataclass(frozen=True)
class QueryVector:
    """The query in the space of meanings of one model."""

    model: str
    vector: Vectors


@dataclass(frozen=True)
class Space:
    """Where the query's vector is compared with those of memories."""

    table: VectorTable
    vector: Vectors

    @classmethod
    def of(cls, table: VectorTable | None, query: QueryVector | None) -> "Space | None":
        """The space of a query among the vectors that serve; None if there is no query, or no vectors.

        Raises ModelChanged if the query was embedded by another model than the one that serves.
        """
        if table is None or query is None:
            return None
        if table.model != query.model:
            raise ModelChanged(table.model)
        return cls(table, query.vector)


@dataclass(frozen=True)
class Lead:
    """What one source has for the query before its meaning is looked at."""

    source: Source
    words: Words
    by_graph: dict[UUID, int]
    in_window: tuple[UUID, ...]


async def look_up(
    transaction: Transaction,
    source: Source,
    request: Request,
    question: Question,
    named_entities: NamedEntities,
    clock: Clock,
) -> Lead:
    """Candidates by words, by the entities that the query names, and by the time that it speaks of."""
    with clock.measure("text"):
        words = await find_by_words(transaction, source, request, question, _wanted(request))
    with clock.measure("graph"):
        by_graph: dict[UUID, int] = {}
        if "graph" in request.techniques and words.known.has_entities:
            by_graph = await _mentioning(transaction, source, question, named_entities)
    with clock.measure("time"):
        in_window = await _in_windows(transaction, source, request, question)
    return Lead(source, words, by_graph, in_window)


async def pool_of(
    transaction: Transaction, lead: Lead, request: Request, space: Space | None, clock: Clock
) -> Pool:
    """The pool of a source: what the techniques found and the turns around it."""
    found: dict[str, Sequence[UUID]] = {
        "text": lead.words.memory_ids,
        "graph": list(lead.by_graph),
        "vector": (),
    }
    with clock.measure("time"):
        found["time"] = await _nearest_in_windows(transaction, space, lead)
    gathered = await _gather(transaction, lead, request, space, found, clock)
    found["vector"] = gathered.near_ids
    columns = columns_of(gathered.row, found)
    mean, deviation = _drawn_to_usual(gathered.usual)
    return Pool(
        source=lead.source,
        words=lead.words,
        **columns,
        hops=_hops(lead.by_graph, columns["memory_ids"]),
        cosines=_cosines_in(gathered.row, len(columns["memory_ids"])),
        cosine_mean=mean,
        cosine_deviation=deviation,
        counts=_counted(found, columns["found_by"], request),
        wish=Wish(lead.source.owner, lead.words.known.lacks_statistics, gathered.lacks_index),
    )


@dataclass(frozen=True)
class _Gathered:
    """The row of a pool's columns, which of them are the nearest in meaning, and what cosines are usual."""

    row: Row
    near_ids: Sequence[UUID] = ()
    usual: Usual | None = None
    lacks_index: bool = False


async def _gather(
    transaction: Transaction,
    lead: Lead,
    request: Request,
    space: Space | None,
    found: Mapping[str, Sequence[UUID]],
    clock: Clock,
) -> _Gathered:
    """All candidates, the nearest in meaning among them, and the turns around the best."""
    expanded = _with_neighbours(request) if "neighbours" in request.techniques else 0
    parameters = evidence_parameters(lead.source, request, lead.words, found, expanded)
    if space is None:
        with clock.measure("neighbours"):
            return _Gathered(await transaction.one("recall.evidence", parameters))
    filtered = None
    if lead.source.filter.leaves_few and request.as_of is None:
        with clock.measure("vector"):
            filtered = await _nearest_filtered(transaction, space, lead.source, request)
    pool = await _near_pool(transaction, lead, request, space, filtered, parameters, clock)
    if filtered is None and _crowded_out(pool, request):
        with clock.measure("vector"):
            filtered = await _nearest_filtered(transaction, space, lead.source, request)
        if filtered is not None:
            pool = await _near_pool(transaction, lead, request, space, filtered, parameters, clock)
    usual = filtered.usual if filtered is not None else pool.usual
    lacks_index = pool.is_complete and usual is not None and usual.count > INDEX_MIN_ROWS
    return _Gathered(pool.row, pool.near_ids, usual, lacks_index)


async def _near_pool(
    transaction: Transaction,
    lead: Lead,
    request: Request,
    space: Space,
    filtered: Nearest | None,
    parameters: Mapping[str, Any],
    clock: Clock,
) -> NearPool:
    """One statement for two techniques: it tells itself how long the first of them took."""
    started_s = perf_counter()
    pool = await near_pool(
        transaction,
        space.table,
        lead.source.owner,
        space.vector,
        limit=_wanted(request),
        memory_count=lead.words.known.memory_count,
        near_ids=None if filtered is None else filtered.memory_ids,
        parameters=parameters,
    )
    clock.add("vector", pool.near_ms)
    clock.add("neighbours", max(0.0, (perf_counter() - started_s) * 1000 - pool.near_ms))
    return pool


def _counted(
    found: Mapping[str, Sequence[UUID]], found_by: Sequence[Sequence[str]], request: Request
) -> dict[str, int]:
    """How many candidates each technique brought; neighbours are those that no other one did."""
    counts = {name: len(ids) for name, ids in found.items()}
    counts["neighbours"] = sum("neighbours" in techniques for techniques in found_by)
    return {name: count for name, count in counts.items() if name in request.techniques}


def _wanted(request: Request) -> int:
    """How many candidates a technique brings: more than are wanted, since ranking may turn their order."""
    return min(CANDIDATES_MAX, max(CANDIDATES_MIN, round(CANDIDATES_PER_HIT * request.limit)))


def _with_neighbours(request: Request) -> int:
    """How many of a technique's best candidates bring the turns around them along: all if they are wanted."""
    if "neighbours" in request.include:
        return _wanted(request)
    return min(CANDIDATES_MAX, max(EXPANDED_MIN, round(EXPANDED_PER_HIT * request.limit)))


async def _mentioning(
    transaction: Transaction,
    source: Source,
    question: Question,
    named_entities: NamedEntities,
) -> dict[UUID, int]:
    entity_ids = await named_entities(transaction, source.owner, question.text)
    if not entity_ids:
        return {}
    parameters = {"owner": source.owner, "entity_ids": list(entity_ids), "limit": CANDIDATES_MIN}
    rows = await transaction.rows("recall.mentioning", parameters)
    return {row["memory_id"]: row["hops"] for row in rows}


async def _in_windows(
    transaction: Transaction, source: Source, request: Request, question: Question
) -> tuple[UUID, ...]:
    """The newest memories of the times that the query speaks of."""
    if "time" not in request.techniques or request.as_of is not None:
        return ()
    found: dict[UUID, None] = {}
    for start, end in question.windows:
        since, until = (datetime.fromtimestamp(moment, UTC) for moment in (start, end))
        narrowed = replace(
            source.filter,
            since=max(since, source.filter.since or since),
            until=min(until, source.filter.until or until),
        )
        parameters = {**replace(source, filter=narrowed).parameters(request), "limit": WINDOW_MAX}
        rows = await transaction.rows("recall.find_filtered", parameters)
        found.update((row["memory_id"], None) for row in rows)
    return tuple(found)


def _crowded_out(pool: NearPool, request: Request) -> bool:
    """Whether memories that do not pass the filter took the places of some that do.

    Only where all were compared: with an index an owner is so large that to look for those that pass could
    take seconds.
    """
    if not pool.is_complete or pool.usual is None or pool.usual.count <= len(pool.near_ids):
        return False
    passing = len(set(pool.near_ids).intersection(pool.row["memory_ids"] or ()))
    return passing < request.limit and request.as_of is None


async def _nearest_filtered(
    transaction: Transaction, space: Space, source: Source, request: Request
) -> Nearest | None:
    """The nearest of those that pass the filter; None if it lets too many through for that."""
    parameters = {**source.parameters(request), "limit": FILTERED_MAX + 1}
    rows = await transaction.rows("recall.find_filtered", parameters)
    if len(rows) > FILTERED_MAX:
        return None
    cosines = await _cosines(transaction, space, {row["memory_id"] for row in rows})
    best = _best(cosines, _wanted(request))
    return Nearest(
        memory_ids=tuple(best),
        cosines=np.array([cosines[memory_id] for memory_id in best], np.float32),
        usual=Usual.of(list(cosines.values())) if cosines else Usual(0.0, 0.0, 0),
    )


async def _nearest_in_windows(transaction: Transaction, space: Space | None, lead: Lead) -> Sequence[UUID]:
    """Of the memories of the query's times those nearest in meaning; the newest if that is not known."""
    if space is None:
        return lead.in_window[:BY_TIME_MAX]
    return _best(await _cosines(transaction, space, set(lead.in_window)), BY_TIME_MAX)


async def _cosines(transaction: Transaction, space: Space | None, ids: set[UUID]) -> dict[UUID, float]:
    return await cosines_of(transaction, space.table, list(ids), space.vector) if space and ids else {}


def _best(cosines: Mapping[UUID, float], limit: int) -> list[UUID]:
    return sorted(cosines, key=lambda memory_id: (-cosines[memory_id], memory_id))[:limit]


def _hops(by_graph: Mapping[UUID, int], memory_ids: Sequence[UUID]) -> Floats:
    """How many relations away each member is from what the query names; infinite where it is not near."""
    if not by_graph:
        return np.full(len(memory_ids), np.inf)
    return np.array([by_graph.get(memory_id, np.inf) for memory_id in memory_ids], float)


def _cosines_in(row: Row, count: int) -> Floats:
    """The cosine of each member; NaN where it has no vector."""
    return np.array(row.get("cosines") or [None] * count, float)


def _drawn_to_usual(usual: Usual | None) -> tuple[float, float]:
    """Mean and deviation of the owner's cosines, drawn towards what is usual when few are known."""
    if usual is None:
        return USUAL_COSINE, USUAL_DEVIATION
    share = PRIOR_MEMORIES / (PRIOR_MEMORIES + usual.count)
    mean = (1 - share) * usual.mean + share * USUAL_COSINE
    variance = (1 - share) * usual.deviation**2 + share * USUAL_DEVIATION**2
    return mean, max(float(np.sqrt(variance)), DEVIATION_MIN)
