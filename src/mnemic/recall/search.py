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
from mnemic.db.id_arrays import Key
from mnemic.db.vector_index import INDEX_MIN_ROWS, NearQuery, Usual, near_query
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
    by_graph: dict[Key, int]
    in_window: tuple[Key, ...]


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
        by_graph: dict[Key, int] = {}
        if "graph" in request.techniques and words.known.has_entities:
            by_graph = await _mentioning(transaction, source, question, named_entities)
    with clock.measure("time"):
        in_window = await _in_windows(transaction, source, request, question)
    return Lead(source, words, by_graph, in_window)


async def prepared_search(
    transaction: Transaction, table: VectorTable, lead: Lead, request: Request
) -> NearQuery:
    """The search for what is nearest in a source; the transaction is then ready for it (`near_query`)."""
    memory_count = lead.words.known.memory_count
    return await near_query(transaction, table, lead.source.owner, _wanted(request), memory_count)


async def pool_of(
    transaction: Transaction,
    lead: Lead,
    request: Request,
    space: Space | None,
    search: NearQuery | None,
    clock: Clock,
) -> Pool:
    """The pool of a source: what the techniques found and the turns around it.

    `search` is the one that the transaction is ready for, None if it is to be prepared.
    """
    found: dict[str, Sequence[Key]] = {
        "text": lead.words.found,
        "graph": list(lead.by_graph),
        "vector": (),
    }
    with clock.measure("time"):
        found["time"] = await _nearest_in_windows(transaction, space, lead)
    gathered = await _gather(transaction, lead, request, space, search, found, clock)
    found["vector"] = gathered.near_keys
    columns = columns_of(gathered.row, found)
    mean, deviation = _drawn_to_usual(gathered.usual)
    return Pool(
        source=lead.source,
        words=lead.words,
        **columns,
        hops=_hops(lead.by_graph, columns["keys"]),
        cosines=_cosines_in(gathered.row, len(columns["keys"])),
        cosine_mean=mean,
        cosine_deviation=deviation,
        counts=_counted(found, columns["found_by"], request),
        wish=Wish(lead.source.owner, lead.words.known.lacks_statistics, gathered.lacks_index),
    )


@dataclass(frozen=True)
class _Gathered:
    """The row of a pool's columns, which of them are the nearest in meaning, and what cosines are usual."""

    row: Row
    near_keys: Sequence[Key] = ()
    usual: Usual | None = None
    lacks_index: bool = False


async def _gather(
    transaction: Transaction,
    lead: Lead,
    request: Request,
    space: Space | None,
    search: NearQuery | None,
    found: Mapping[str, Sequence[Key]],
    clock: Clock,
) -> _Gathered:
    """All candidates, the nearest in meaning among them, and the turns around the best."""
    expanded = _with_neighbours(request) if "neighbours" in request.techniques else 0
    parameters = evidence_parameters(lead.source, request, lead.words, found, expanded)
    if space is None:
        with clock.measure("neighbours"):
            (row,) = await transaction.keyed_rows("recall.evidence", parameters)
            return _Gathered(row)
    filtered = None
    if lead.source.filter.leaves_few and request.as_of is None:
        with clock.measure("vector"):
            filtered = await _nearest_filtered(transaction, space, lead.source, request)
    if filtered is not None:
        pool = await _near_pool(transaction, lead, request, space, filtered.keys, parameters, clock)
    else:
        search = search or await prepared_search(transaction, space.table, lead, request)
        pool = await _near_pool(transaction, lead, request, space, search, parameters, clock)
    if filtered is None and _crowded_out(pool, request):
        with clock.measure("vector"):
            filtered = await _nearest_filtered(transaction, space, lead.source, request)
        if filtered is not None:
            pool = await _near_pool(transaction, lead, request, space, filtered.keys, parameters, clock)
    usual = filtered.usual if filtered is not None else pool.usual
    lacks_index = pool.is_complete and usual is not None and usual.count > INDEX_MIN_ROWS
    return _Gathered(pool.row, pool.near_keys, usual, lacks_index)


async def _near_pool(
    transaction: Transaction,
    lead: Lead,
    request: Request,
    space: Space,
    near: NearQuery | Sequence[Key],
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
        near=near,
        limit=_wanted(request),
        parameters=parameters,
    )
    clock.add("vector", pool.near_ms)
    clock.add("neighbours", max(0.0, (perf_counter() - started_s) * 1000 - pool.near_ms))
    return pool


def _counted(
    found: Mapping[str, Sequence[Key]], found_by: Sequence[Sequence[str]], request: Request
) -> dict[str, int]:
    """How many candidates each technique brought; neighbours are those that no other one did."""
    counts = {name: len(keys) for name, keys in found.items()}
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
) -> dict[Key, int]:
    entity_ids = await named_entities(transaction, source.owner, question.text)
    if not entity_ids:
        return {}
    parameters = {"owner": source.owner, "entity_ids": list(entity_ids), "limit": CANDIDATES_MIN}
    rows = await transaction.rows("recall.mentioning", parameters)
    return {row["memory_id"].bytes: row["hops"] for row in rows}


async def _in_windows(
    transaction: Transaction, source: Source, request: Request, question: Question
) -> tuple[Key, ...]:
    """The newest memories of the times that the query speaks of."""
    if "time" not in request.techniques or request.as_of is not None:
        return ()
    found: dict[Key, None] = {}
    for start, end in question.windows:
        since, until = (datetime.fromtimestamp(moment, UTC) for moment in (start, end))
        narrowed = replace(
            source.filter,
            since=max(since, source.filter.since or since),
            until=min(until, source.filter.until or until),
        )
        parameters = {**replace(source, filter=narrowed).parameters(request), "limit": WINDOW_MAX}
        rows = await transaction.rows("recall.find_filtered", parameters)
        found.update((row["memory_id"].bytes, None) for row in rows)
    return tuple(found)


def _crowded_out(pool: NearPool, request: Request) -> bool:
    """Whether memories that do not pass the filter took the places of some that do.

    Only where all were compared: with an index an owner is so large that to look for those that pass could
    take seconds.
    """
    if not pool.is_complete or pool.usual is None or pool.usual.count <= len(pool.near_keys):
        return False
    passing = len(set(pool.near_keys).intersection(pool.row["memory_ids"] or ()))
    return passing < request.limit and request.as_of is None


@dataclass(frozen=True)
class _Filtered:
    """The nearest of those that pass a filter, best first, and what cosine is usual among them."""

    keys: Sequence[Key]
    usual: Usual


async def _nearest_filtered(
    transaction: Transaction, space: Space, source: Source, request: Request
) -> _Filtered | None:
    """The nearest of those that pass the filter; None if it lets too many through for that."""
    parameters = {**source.parameters(request), "limit": FILTERED_MAX + 1}
    rows = await transaction.rows("recall.find_filtered", parameters)
    if len(rows) > FILTERED_MAX:
        return None
    cosines = await _cosines(transaction, space, {row["memory_id"].bytes for row in rows})
    usual = Usual.of(list(cosines.values())) if cosines else Usual(0.0, 0.0, 0)
    return _Filtered(_best(cosines, _wanted(request)), usual)


async def _nearest_in_windows(transaction: Transaction, space: Space | None, lead: Lead) -> Sequence[Key]:
    """Of the memories of the query's times those nearest in meaning; the newest if that is not known."""
    if space is None:
        return lead.in_window[:BY_TIME_MAX]
    return _best(await _cosines(transaction, space, set(lead.in_window)), BY_TIME_MAX)


async def _cosines(transaction: Transaction, space: Space, keys: set[Key]) -> dict[Key, float]:
    return await cosines_of(transaction, space.table, keys, space.vector) if keys else {}


def _best(cosines: Mapping[Key, float], limit: int) -> list[Key]:
    return sorted(cosines, key=lambda key: (-cosines[key], key))[:limit]


def _hops(by_graph: Mapping[Key, int], keys: Sequence[Key]) -> Floats:
    """How many relations away each member is from what the query names; infinite where it is not near."""
    if not by_graph:
        return np.full(len(keys), np.inf)
    return np.array([by_graph.get(key, np.inf) for key in keys], float)


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
