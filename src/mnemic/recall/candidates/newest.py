"""Candidates of an overview: the newest memories that the reader may read, whatever the query says."""

from collections.abc import Sequence

from mnemic.db.database import TenantDatabase
from mnemic.db.id_arrays import Key
from mnemic.recall.query_analysis import QueryAnalysis
from mnemic.recall.readable_owners import ReadableOwner
from mnemic.recall.request import Request

NEWEST_MAX = 300


async def search_newest(
    database: TenantDatabase, readable: ReadableOwner, request: Request, analysis: QueryAnalysis
) -> Sequence[Key]:
    """The newest memories, if an overview is asked for."""
    if analysis.overview is None:
        return ()
    search = "recall.find_filtered" if readable.grant_id is None else "recall.find_granted"
    async with database.transaction() as transaction:
        rows = await transaction.rows(search, {**readable.parameters(request), "limit": NEWEST_MAX})
    return tuple(row["memory_id"].bytes for row in rows)
