"""Candidates by vector: semantic search for the memories with the highest cosines.

For most owners the database compares all vectors; for large owners it searches their HNSW index. The same
statement reads the memories of the times that the query names, the features of the candidates of all
searches, the turns around the best, and their cosines.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase
from mnemic.db.half_vectors import HalfVector
from mnemic.db.id_arrays import IdArray, Key
from mnemic.db.vector_index import INDEX_MIN_ROWS, CosineStatistics, ef_search_for, index_name
from mnemic.db.vectors import ModelChanged, with_cosines
from mnemic.recall.candidates.columns import with_numbers
from mnemic.recall.candidates.filtered import FilteredMatches, search_filtered
from mnemic.recall.candidates.granted import search_granted
from mnemic.recall.candidates.lexical import LexicalMatches
from mnemic.recall.candidates.limits import candidate_limit
from mnemic.recall.candidates.neighbours import features_parameters
from mnemic.recall.candidates.owner_lookup import OwnerLookup
from mnemic.recall.query_embedding import QueryEmbedding, VectorQuery
from mnemic.recall.request import Request
from mnemic.recall.stage_timer import StageTimer
from mnemic.sql import query as query_text


@dataclass(frozen=True)
class SemanticMatches:
    """The nearest memories, best first, and the candidates by time.

    `statistics` are of the owner's cosines, of a sample of them if an index was searched, None without one;
    `is_exact` says that all of the owner's vectors were compared; `row` is the result of `recall.near`, which
    has the features of the candidates of all searches, None if there are none.
    """

    keys: Sequence[Key] = ()
    by_time: Sequence[Key] = ()
    statistics: CosineStatistics | None = None
    is_exact: bool = False
    row: Row | None = None

    @property
    def lacks_index(self) -> bool:
        """Whether an index would have made the search faster."""
        return self.is_exact and self.statistics is not None and self.statistics.count > INDEX_MIN_ROWS


async def search_semantic(
    database: TenantDatabase,
    lookup: OwnerLookup,
    request: Request,
    embedding: QueryEmbedding | None,
    lexical: asyncio.Task[LexicalMatches],
    timer: StageTimer,
) -> SemanticMatches:
    """The nearest memories that pass the filter, those of the query's times, and the features of all.

    `lexical` is awaited before the statement that reads the features.
    """
    query = VectorQuery.of(lookup.terms.vector_table, embedding)
    search = _SemanticSearch(database, lookup, request, query, lexical, timer)
    if query is None:
        return await search.run()
    if lookup.counts_granted_only:
        return await search.run(await search_granted(database, query, lookup.readable, request, timer))
    if lookup.readable.filter.leaves_few and request.as_of is None:
        return await search.run(await search_filtered(database, query, lookup.readable, request, timer))
    matches = await search.run()
    if _is_crowded_out(matches, request):
        filtered = await search_filtered(database, query, lookup.readable, request, timer)
        return await search.run(filtered) if filtered is not None else matches
    return matches


@dataclass(frozen=True)
class _SemanticSearch:
    """The search of one owner, which may be repeated with the nearest of a filter."""

    database: TenantDatabase
    lookup: OwnerLookup
    request: Request
    query: VectorQuery | None
    lexical: asyncio.Task[LexicalMatches]
    timer: StageTimer

    async def run(self, filtered: FilteredMatches | None = None) -> SemanticMatches:
        """Execute one statement, which itself measures how long its searches took."""
        found = ((await self.lexical).found, self.lookup.known_keys)
        if self.query is None and not any(found) and not self.lookup.time_windows.windows:
            return SemanticMatches()
        started_s = perf_counter()
        near = filtered.keys if filtered is not None else None
        row = await read_features(self.database, self.lookup, self.request, self.query, found, near)
        self.timer.add("vector", row["near_ms"])
        self.timer.add("time", row["time_ms"])
        others_ms = row["near_ms"] + row["time_ms"]
        self.timer.add("neighbours", max(0.0, (perf_counter() - started_s) * 1000 - others_ms))
        return SemanticMatches(
            keys=row["near_ids"],
            by_time=row["time_ids"],
            statistics=filtered.statistics if filtered is not None else _statistics(row),
            is_exact=row["row_count"] is not None,
            row=row,
        )


async def read_features(
    database: TenantDatabase,
    lookup: OwnerLookup,
    request: Request,
    query: VectorQuery | None,
    found: Sequence[Sequence[Key]],
    near: Sequence[Key] | None,
) -> Row:
    """Features and cosines of candidates and of the turns around the best.

    `found` are the candidates of each search so far, best first. `near` are the nearest; None searches for
    them. Raises ModelChanged if another model serves the tenant than the one that embedded the query.
    """
    owner = lookup.readable.owner
    parameters = {
        **features_parameters(lookup, request, found),
        **lookup.time_windows.parameters(),
        "model": query and query.table.model,
        "vector_table": query and query.table.name,
        "vector": query and HalfVector(query.vector),
        "near": IdArray(near) if near is not None else None,
        "index_name": query and index_name(query.table.name, database.tenant.id, owner),
        "ef_search": ef_search_for(candidate_limit(request), lookup.terms.memory_count),
        "sample_owner": owner if near is None and not lookup.counts_granted_only else None,
    }
    statement = query_text("recall.near")
    if query is not None:
        statement = with_cosines(statement, query.table.name)
    (row,) = await database.read_composed(statement, parameters)
    if query is not None and row["model"] != query.table.model:
        raise ModelChanged(row["model"])
    return with_numbers(row if query is not None else row | _NO_COSINES)


_NO_COSINES = dict.fromkeys(("other_ids", "other_cosines", "sample_count"))


def _statistics(row: Row) -> CosineStatistics | None:
    """Of all of the owner's cosines; of the sample if an index was searched."""
    return CosineStatistics.from_row(row) or CosineStatistics.from_sample(row)


def _is_crowded_out(matches: SemanticMatches, request: Request) -> bool:
    """Whether memories that do not pass the filter took the places of some that do.

    Only after an exact search: an owner with an index is so large that reading the memories that pass could
    take seconds.
    """
    statistics, row = matches.statistics, matches.row
    if not matches.is_exact or statistics is None or statistics.count <= len(matches.keys):
        return False
    passing = set(row["memory_ids"] or () if row is not None else ())
    return len(passing.intersection(matches.keys)) < request.limit and request.as_of is None
