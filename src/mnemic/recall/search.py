"""Looking for candidates, source by source: by words, names and times first, then by meaning.

The first part needs no vector: it runs while the query is being embedded, and may go on while what is near
in meaning is searched for. Each technique brings at most `request`-dependent many candidates; together with
the turns around them they make the pool that is ranked. Most recalls take one statement for the query's
terms and one for each part (`sql/definitions/recall/`); names, times and filters that leave few take a
transaction besides.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import perf_counter
from typing import Any
from uuid import UUID

import numpy as np

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.half_vectors import HalfVector
from mnemic.db.id_arrays import IdArray, Key
from mnemic.db.vector_index import INDEX_MIN_ROWS, Usual, ef_search_for, index_name
from mnemic.db.vectors import ModelChanged, Vectors, VectorTable, cosines_of
from mnemic.recall.clock import Clock
from mnemic.recall.pool import NEIGHBOUR_REACH, Columns, Floats, Pool, Wish
from mnemic.recall.request import Request
from mnemic.recall.source import Source
from mnemic.recall.understand import Question
from mnemic.recall.words import Words, WordSearch, terms_of, terms_parameters

CANDIDATES_MIN = 30
CANDIDATES_PER_HIT = 1.5
EXPANDED_MIN = 5
EXPANDED_PER_HIT = 0.5
CANDIDATES_MAX = 400
FILTERED_MAX = 2_000
"""Memories that are compared one by one when a filter leaves no more than these."""
WINDOW_MAX = 500
BY_TIME_MAX = 50
ALONG_MAX_BYTES = 2_000
"""Records whose texts are longer do not come along with the candidates, of which most are not chosen."""
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
    """What is known about the query and one source before anything is searched for by words or meaning."""

    source: Source
    search: WordSearch
    by_graph: Mapping[Key, int]
    in_window: Sequence[Key]


async def look_up(
    database: TenantDatabase,
    source: Source,
    request: Request,
    question: Question,
    named_entities: NamedEntities,
    clock: Clock,
) -> Lead:
    """The terms of the query; candidates by the entities that it names, and by the time it speaks of."""
    with clock.measure("text"):
        (row,) = await database.read("recall.terms", terms_parameters(source.owner, question))
        known = terms_of(row, question)
    with clock.measure("graph"):
        by_graph: Mapping[Key, int] = {}
        if "graph" in request.techniques and known.has_entities:
            by_graph = await _mentioning(database, source, question, named_entities)
    with clock.measure("time"):
        in_window = await _in_windows(database, source, request, question)
    return Lead(source, WordSearch.of(known, request), by_graph, in_window)


@dataclass(frozen=True)
class Seen:
    """What a source has by words and names; `row` is what the query gave, None if nothing was asked."""

    words: Words
    row: Row | None


async def see(database: TenantDatabase, lead: Lead, request: Request, clock: Clock) -> Seen:
    """What has the query's words, what mentions its names, and what is around both.

    With a vector to come, owners whose statistics are kept are asked in any case, for their sample.
    """
    search = lead.search
    with_vectors = "vector" in request.techniques
    if not search.searches and not lead.by_graph and not (with_vectors and search.known.is_kept):
        return Seen(search.found(None), None)
    parameters = {
        **_around(lead, request, list(lead.by_graph)),
        **search.parameters(),
        "with_vectors": with_vectors,
    }
    started_s = perf_counter()
    (row,) = await database.read("recall.words", parameters)
    clock.add("text", row["words_ms"])
    clock.add("neighbours", max(0.0, (perf_counter() - started_s) * 1000 - row["words_ms"]))
    return Seen(search.found(row), row)


@dataclass(frozen=True)
class Near:
    """The nearest in meaning, best first; what cosines are usual; and what `recall.near` gave.

    `is_complete` says that all of the owner's vectors were compared; `by_time` are memories of the query's
    times.
    """

    keys: Sequence[Key] = ()
    by_time: Sequence[Key] = ()
    usual: Usual | None = None
    is_complete: bool = False
    row: Row | None = None

    @property
    def lacks_index(self) -> bool:
        """Whether an index would have made the search faster."""
        return self.is_complete and self.usual is not None and self.usual.count > INDEX_MIN_ROWS


async def pool_of(
    lead: Lead, request: Request, query: QueryVector | None, seeing: Awaitable[Seen], nearing: Awaitable[Near]
) -> Pool:
    """The pool of a source: what the techniques found and the turns around it.

    What was seen is made ready while the nearest are still being searched for.
    """
    seen = await seeing
    space = Space.of(lead.search.known.table, query)
    columns = Columns()
    columns.add(seen.row)
    cosines = _cosines_seen(seen.row, space)
    sampled = _usual_in_sample(seen.row, space)
    near = await nearing
    columns.add(near.row)
    found: dict[str, Sequence[Key]] = {
        "text": seen.words.found,
        "graph": list(lead.by_graph),
        "vector": near.keys,
        "time": near.by_time,
    }
    joined = columns.joined(found)
    mean, deviation = _drawn_to_usual(near.usual or sampled)
    return Pool(
        source=lead.source,
        words=seen.words,
        **joined,
        hops=_hops(lead.by_graph, joined["keys"]),
        cosines=_cosines_of(joined["keys"], cosines | _cosines_near(near.row)),
        cosine_mean=mean,
        cosine_deviation=deviation,
        counts=_counted(found, joined["found_by"], request),
        wish=Wish(lead.source.owner, lead.search.known.lacks_statistics, near.lacks_index),
    )


async def find_near(
    database: TenantDatabase, lead: Lead, request: Request, query: QueryVector | None, clock: Clock
) -> Near:
    """What a source has that is near in meaning, or of the query's times, and what is around it."""
    space = Space.of(lead.search.known.table, query)
    with clock.measure("time"):
        by_time = await _nearest_in_windows(database, space, lead)
    near = await _nearest(database, lead, request, space, by_time, clock)
    return replace(near, by_time=by_time) if by_time else near


async def _nearest(
    database: TenantDatabase,
    lead: Lead,
    request: Request,
    space: Space | None,
    others: Sequence[Key],
    clock: Clock,
) -> Near:
    """The nearest in meaning among those that pass the filter, the others, and what is around them."""
    if space is None:
        return await _search(database, lead, request, None, others, clock) if others else Near()
    filtered = None
    if lead.source.filter.leaves_few and request.as_of is None:
        filtered = await _nearest_filtered(database, space, lead.source, request, clock)
    near = await _search(database, lead, request, space, others, clock, filtered)
    if filtered is None and _crowded_out(near, request):
        filtered = await _nearest_filtered(database, space, lead.source, request, clock)
        if filtered is not None:
            near = await _search(database, lead, request, space, others, clock, filtered)
    return near


async def _search(
    database: TenantDatabase,
    lead: Lead,
    request: Request,
    space: Space | None,
    others: Sequence[Key],
    clock: Clock,
    filtered: "_Filtered | None" = None,
) -> Near:
    """One statement for two techniques: it tells itself how long the first of them took."""
    parameters = {
        **_around(lead, request, others),
        "model": space and space.table.model,
        "vector_table": space and space.table.name,
        "vector": space and HalfVector(space.vector),
        "near": filtered and IdArray(filtered.keys),
        "index_name": space and index_name(space.table.name, database.tenant.id, lead.source.owner),
        "ef_search": ef_search_for(_wanted(request), lead.search.known.memory_count),
    }
    started_s = perf_counter()
    (row,) = await database.read("recall.near", parameters)
    if space is not None and row["model"] != space.table.model:
        raise ModelChanged(row["model"])
    clock.add("vector", row["near_ms"])
    clock.add("neighbours", max(0.0, (perf_counter() - started_s) * 1000 - row["near_ms"]))
    usual = filtered.usual if filtered is not None else Usual.from_row(row)
    return Near(keys=row["near_ids"], usual=usual, is_complete=row["row_count"] is not None, row=row)


def _around(lead: Lead, request: Request, others: Sequence[Key]) -> dict[str, Any]:
    """What the queries for candidates have in common; the first of the `others` bring those around them."""
    return {
        **lead.source.parameters(request),
        "limit": _wanted(request),
        "ids": IdArray(others),
        "expanded": _with_neighbours(request) if "neighbours" in request.techniques else 0,
        "reach": NEIGHBOUR_REACH,
        "terms": list(lead.search.known.terms),
        "along_bytes": ALONG_MAX_BYTES,
    }


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
    database: TenantDatabase,
    source: Source,
    question: Question,
    named_entities: NamedEntities,
) -> dict[Key, int]:
    async with database.transaction() as transaction:
        entity_ids = await named_entities(transaction, source.owner, question.text)
        if not entity_ids:
            return {}
        parameters = {"owner": source.owner, "entity_ids": list(entity_ids), "limit": CANDIDATES_MIN}
        rows = await transaction.rows("recall.mentioning", parameters)
    return {row["memory_id"].bytes: row["hops"] for row in rows}


async def _in_windows(
    database: TenantDatabase, source: Source, request: Request, question: Question
) -> tuple[Key, ...]:
    """The newest memories of the times that the query speaks of."""
    if "time" not in request.techniques or request.as_of is not None or not question.windows:
        return ()
    found: dict[Key, None] = {}
    async with database.transaction() as transaction:
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


def _crowded_out(near: Near, request: Request) -> bool:
    """Whether memories that do not pass the filter took the places of some that do.

    Only where all were compared: with an index an owner is so large that to look for those that pass could
    take seconds.
    """
    if not near.is_complete or near.usual is None or near.usual.count <= len(near.keys):
        return False
    passing = set(near.row["memory_ids"] or () if near.row is not None else ())
    return len(passing.intersection(near.keys)) < request.limit and request.as_of is None


@dataclass(frozen=True)
class _Filtered:
    """The nearest of those that pass a filter, best first, and what cosine is usual among them."""

    keys: Sequence[Key]
    usual: Usual


async def _nearest_filtered(
    database: TenantDatabase, space: Space, source: Source, request: Request, clock: Clock
) -> _Filtered | None:
    """The nearest of those that pass the filter; None if it lets too many through for that."""
    parameters = {**source.parameters(request), "limit": FILTERED_MAX + 1}
    with clock.measure("vector"):
        async with database.transaction() as transaction:
            rows = await transaction.rows("recall.find_filtered", parameters)
            if len(rows) > FILTERED_MAX:
                return None
            cosines = await _cosines(transaction, space, {row["memory_id"].bytes for row in rows})
    usual = Usual.of(list(cosines.values())) if cosines else Usual(0.0, 0.0, 0)
    return _Filtered(_best(cosines, _wanted(request)), usual)


async def _nearest_in_windows(database: TenantDatabase, space: Space | None, lead: Lead) -> Sequence[Key]:
    """Of the memories of the query's times those nearest in meaning; the newest if that is not known."""
    if space is None or not lead.in_window:
        return lead.in_window[:BY_TIME_MAX]
    async with database.transaction() as transaction:
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


def _cosines_of(keys: Sequence[Key], cosines: Mapping[Key, float]) -> Floats:
    """The cosine of each; NaN where it has no vector."""
    return np.array([cosines.get(key, np.nan) for key in keys], float)


def _cosines_near(row: Row | None) -> dict[Key, float]:
    """The cosines in a row of `recall.near`."""
    if row is None:
        return {}
    near = dict(zip(row["near_ids"], row["near_cosines"] or (), strict=False))
    return near | dict(zip(row["other_ids"] or (), row["other_cosines"] or (), strict=True))


def _cosines_seen(row: Row | None, space: Space | None) -> dict[Key, float]:
    """The cosines of a row of `recall.words`, by the vectors that it brought."""
    if row is None or space is None or row["vectors"] is None:
        return {}
    keys = [row["memory_ids"][place - 1] for place in row["vector_places"]]
    return dict(zip(keys, _compared(row["vectors"], space).tolist(), strict=True))


def _usual_in_sample(row: Row | None, space: Space | None) -> Usual | None:
    """What cosine is usual, by some of the owner's vectors; None if there are none."""
    if row is None or space is None or row["sample_vectors"] is None:
        return None
    return Usual.of(_compared(row["sample_vectors"], space).tolist())


def _compared(vectors: Vectors, space: Space) -> Floats:
    """The cosines of vectors, as the database would compute them: the query is rounded as they are."""
    query = space.vector.astype(np.float16).astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    cosines: Floats = (vectors @ query) / np.maximum(lengths, np.finfo(np.float32).tiny)
    return cosines


def _drawn_to_usual(usual: Usual | None) -> tuple[float, float]:
    """Mean and deviation of the owner's cosines, drawn towards what is usual when few are known."""
    if usual is None:
        return USUAL_COSINE, USUAL_DEVIATION
    share = PRIOR_MEMORIES / (PRIOR_MEMORIES + usual.count)
    mean = (1 - share) * usual.mean + share * USUAL_COSINE
    variance = (1 - share) * usual.deviation**2 + share * USUAL_DEVIATION**2
    return mean, max(float(np.sqrt(variance)), DEVIATION_MIN)
