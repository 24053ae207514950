"""Searching for the reader of a grant: memories that the grant does not cover influence nothing.

Everything is computed from the granted memories (mnemic.granted_memories): how many there are, in how many a
term occurs, the mean and the deviation of their cosines, which are the nearest and the newest. The giver's
word statistics, sample of vectors and vector index are made from all of its memories and would tell about
the others, so they are not used; nor are its entities, which no grant covers. A search takes longer the more
memories are granted.

A grant over everything is the exception: if the giver has word statistics, that is many memories, and no
branches, which no grant opens, they are searched like those of the giver itself.
"""

from mnemic.db.database import TenantDatabase
from mnemic.db.half_vectors import HalfVector
from mnemic.db.vector_index import CosineStatistics
from mnemic.recall.candidates.filtered import FilteredMatches
from mnemic.recall.candidates.limits import candidate_limit
from mnemic.recall.candidates.query_terms import QueryTerms
from mnemic.recall.query_embedding import VectorQuery
from mnemic.recall.readable_owners import ReadableOwner
from mnemic.recall.request import Request
from mnemic.recall.stage_timer import StageTimer


def counts_granted_only(readable: ReadableOwner, terms: QueryTerms) -> bool:
    """Whether the owner's memories are searched as this module says."""
    covers_all = readable.covers_everything and not terms.has_branches
    return readable.grant_id is not None and not (covers_all and terms.has_statistics)


async def count_granted(database: TenantDatabase, readable: ReadableOwner, request: Request) -> int:
    """Count the memories that the grant covers and the request's filter lets pass."""
    (row,) = await database.read("recall.granted", readable.parameters(request))
    return int(row["memory_count"])


async def search_granted(
    database: TenantDatabase,
    query: VectorQuery,
    readable: ReadableOwner,
    request: Request,
    timer: StageTimer,
) -> FilteredMatches:
    """Compare the query with all granted memories."""
    parameters = {
        **readable.parameters(request),
        "vector_table": query.table.name,
        "vector": HalfVector(query.vector),
        "limit": candidate_limit(request),
    }
    with timer.measure("vector"):
        (row,) = await database.read("recall.nearest_granted", parameters)
    statistics = CosineStatistics(row["mean"] or 0.0, row["deviation"] or 0.0, row["row_count"])
    return FilteredMatches(row["memory_ids"], statistics)
