"""Candidates by time: memories of the times that the query names.

The statement of the semantic search reads them (mnemic.recall_in_windows): the newest memories of each
window, and of these the nearest to the query.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from mnemic.recall.candidates.limits import candidate_limit
from mnemic.recall.query_analysis import QueryAnalysis
from mnemic.recall.request import Request

WINDOW_MAX = 500
"""Memories that are read for one window, the newest first."""
BY_TIME_MAX = 50


@dataclass(frozen=True)
class TimeWindows:
    """The windows to search. Of a query without a topic, the `listed` newest memories become candidates."""

    windows: tuple[tuple[float, float], ...] = ()
    listed: int | None = None

    @classmethod
    def of(cls, request: Request, analysis: QueryAnalysis) -> "TimeWindows":
        """The windows that the query names; none for a time in the past, or if they are not wanted."""
        if "time" not in request.techniques or request.as_of is not None:
            return cls()
        listed = max(BY_TIME_MAX, candidate_limit(request)) if analysis.lists_time else None
        return cls(analysis.windows, listed)

    def parameters(self) -> dict[str, Any]:
        """Parameters of mnemic.recall_in_windows."""
        return {
            "windows_since": [datetime.fromtimestamp(since, UTC) for since, _ in self.windows],
            "windows_until": [datetime.fromtimestamp(until, UTC) for _, until in self.windows],
            "window_max": WINDOW_MAX,
            "lists_windows": self.listed is not None,
            "by_time_max": self.listed or BY_TIME_MAX,
        }
