"""Candidates by conversation: the turns around the best candidates of the lexical and the semantic search.

The statement of the semantic search reads them for both (mnemic.candidate_features), together with everything
that ranking needs and, unless it is long, the record itself.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mnemic.db.id_arrays import IdArray, Key
from mnemic.recall.candidates.limits import CANDIDATES_MAX, candidate_limit
from mnemic.recall.candidates.owner_lookup import OwnerLookup
from mnemic.recall.request import Request

NEIGHBOUR_REACH = 2
"""Turns before and after a candidate that become candidates too."""
EXPANDED_MIN = 5
EXPANDED_PER_HIT = 0.5
RECORD_MAX_BYTES = 2_000
"""Longer records are read only if they are selected: most candidates are not."""

Floats = npt.NDArray[np.float64]


def features_parameters(
    lookup: OwnerLookup, request: Request, found: Sequence[Sequence[Key]]
) -> dict[str, Any]:
    """Parameters of mnemic.candidate_features; `found` are the candidates of each search so far, best first.

    `expanded` counts for the semantic search, which runs in the same statement.
    """
    expanded = _expanded_count(request) if "neighbours" in request.techniques else 0
    return {
        **lookup.readable.parameters(request),
        "limit": candidate_limit(request),
        "ids": IdArray(key for keys in found for key in keys),
        "expanded_ids": IdArray(key for keys in found for key in keys[:expanded]),
        "expanded": expanded,
        "reach": NEIGHBOUR_REACH,
        "terms": list(lookup.terms.tsqueries),
        "along_bytes": RECORD_MAX_BYTES,
    }


def _expanded_count(request: Request) -> int:
    """How many of a search's best candidates bring their neighbours: all if the caller wants to see these."""
    if "neighbours" in request.include:
        return candidate_limit(request)
    return min(CANDIDATES_MAX, max(EXPANDED_MIN, round(EXPANDED_PER_HIT * request.limit)))


class ConversationTurns:
    """Which candidates of a pool are neighbouring turns.

    If a turn was split into chunks, the first chunk in the pool represents it.
    """

    def __init__(self, conversations: Sequence[str | None], positions: Sequence[int | None]) -> None:
        self._indexes = _neighbour_indexes(conversations, positions)

    def neighbour(self, index: int, offset: int) -> int | None:
        """The index of the candidate `offset` turns later; a negative offset means earlier."""
        found = int(self._indexes[offset + NEIGHBOUR_REACH, index])
        return found if found >= 0 else None

    def shifted(self, values: Floats, offset: int) -> Floats:
        """For each candidate the value of its neighbour `offset` turns later, 0 where there is none."""
        shifted: Floats = np.append(values, 0.0)[self._indexes[offset + NEIGHBOUR_REACH]]
        return shifted


def _neighbour_indexes(
    conversations: Sequence[str | None], positions: Sequence[int | None]
) -> npt.NDArray[np.int_]:
    """For each offset from -NEIGHBOUR_REACH on, the index of each candidate's neighbour; -1 without one.

    Every turn gets a number: consecutive within a conversation, with a gap between conversations, so that
    one search in the sorted numbers finds all neighbours. A candidate without a position gets a number far
    from others.
    """
    numbers_of: dict[str | None, int] = {}
    conversation_of = np.array(
        [numbers_of.setdefault(name, len(numbers_of)) for name in conversations], np.int64
    )
    position_of = np.array(
        [_NO_POSITION if position is None else position for position in positions], np.int64
    )
    stride = position_of.max(initial=0) + NEIGHBOUR_REACH + 1
    numbers = np.where(position_of == _NO_POSITION, _NO_POSITION, conversation_of * stride + position_of)
    order = numbers.argsort(kind="stable")
    wanted = numbers + _OFFSETS
    found = np.minimum(numbers[order].searchsorted(wanted), len(order) - 1) if len(order) else wanted
    indexes: npt.NDArray[np.int_] = np.where(numbers[order[found]] == wanted, order[found], -1)
    return indexes


_NO_POSITION = -(2**40)
_OFFSETS = np.arange(-NEIGHBOUR_REACH, NEIGHBOUR_REACH + 1)[:, None]
