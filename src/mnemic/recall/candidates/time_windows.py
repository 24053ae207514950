"""Candidates by time: memories of the times that the query names."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mnemic.db.database import TenantDatabase
from mnemic.db.id_arrays import Key
from mnemic.recall.candidates.cosines import best_first, stored_cosines
from mnemic.recall.candidates.limits import candidate_limit
from mnemic.recall.query_analysis import QueryAnalysis
from mnemic.recall.query_embedding import VectorQuery
from mnemic.recall.readable_owners import ReadableOwner
from mnemic.recall.request import Request

WINDOW_MAX = 500
"""Memories that are read for one window, the newest first."""
BY_TIME_MAX = 50


@dataclass(frozen=True)
class WindowMatches:
    """The newest memories of a query's windows. Of a query without a topic, `listed` become candidates."""

    keys: Sequence[Key] = ()
    listed: int | None = None


async def search_windows(
    database: TenantDatabase, readable: ReadableOwner, request: Request, analysis: QueryAnalysis
) -> WindowMatches:
    """The newest memories of each window that the query names."""
    if "time" not in request.techniques or request.as_of is not None or not analysis.windows:
        return WindowMatches()
    search = "recall.find_filtered" if readable.grant_id is None else "recall.find_granted"
    found: dict[Key, None] = {}
    async with database.transaction() as transaction:
        for window in analysis.windows:
            parameters = {**_within(readable, window).parameters(request), "limit": WINDOW_MAX}
            rows = await transaction.rows(search, parameters)
            found.update((row["memory_id"].bytes, None) for row in rows)
    listed = max(BY_TIME_MAX, candidate_limit(request)) if analysis.lists_time else None
    return WindowMatches(tuple(found), listed)


async def nearest_in_windows(
    database: TenantDatabase, query: VectorQuery | None, in_windows: WindowMatches
) -> Sequence[Key]:
    """The memories of the windows with the highest cosines; without a vector or a topic, the newest."""
    keys = in_windows.keys
    if query is None or not keys or in_windows.listed is not None:
        return keys[: in_windows.listed or BY_TIME_MAX]
    async with database.transaction() as transaction:
        return best_first(await stored_cosines(transaction, query, set(keys)), BY_TIME_MAX)


def _within(readable: ReadableOwner, window: tuple[float, float]) -> ReadableOwner:
    """The owner's memories that pass the filter and happened in the window."""
    since, until = (datetime.fromtimestamp(moment, UTC) for moment in window)
    narrowed = replace(
        readable.filter,
        since=max(since, readable.filter.since or since),
        until=min(until, readable.filter.until or until),
    )
    return replace(readable, filter=narrowed)
