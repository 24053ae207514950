"""How many candidates a search returns."""

from mnemic.recall.request import Request

CANDIDATES_MIN = 30
CANDIDATES_MAX = 400
CANDIDATES_PER_HIT = 1.5
"""More than one, since ranking changes the order."""


def candidate_limit(request: Request) -> int:
    """Candidates of one search."""
    return min(CANDIDATES_MAX, max(CANDIDATES_MIN, round(CANDIDATES_PER_HIT * request.limit)))
