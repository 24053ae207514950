"""The pool: every memory that may become a hit, column by column, with all that ranking looks at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from mnemic.db.connection import Row
from mnemic.recall.request import Request
from mnemic.recall.source import Source
from mnemic.recall.words import Words

NEIGHBOUR_REACH = 2
"""Turns before and after a candidate that join the pool and lend it evidence."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Wish:
    """What would make the next recall of an owner faster: kept word counts, an index of vectors."""

    owner: str
    statistics: bool = False
    vector_index: bool = False


@dataclass(frozen=True)
class Pool:
    """Memories of one source. `cosines` is NaN where a memory has no vector, `terms` are bits by term."""

    source: Source
    words: Words
    memory_ids: tuple[UUID, ...]
    conversations: tuple[str | None, ...]
    positions: tuple[int | None, ...]
    roles: tuple[str | None, ...]
    names: tuple[str | None, ...]
    channels: tuple[str, ...]
    bytes: Floats
    happened_at_s: Floats
    confidences: Floats
    usefulnesses: Floats
    saliences: Floats
    anchored: Floats
    tenses: Floats
    terms: tuple[int, ...]
    found_by: tuple[tuple[str, ...], ...]
    hops: Floats
    cosines: Floats
    cosine_mean: float
    cosine_deviation: float
    counts: Mapping[str, int]
    wish: Wish

    def __len__(self) -> int:
        """How many memories there are."""
        return len(self.memory_ids)


_FLOATS = ("bytes", "happened_at_s", "confidences", "usefulnesses", "saliences", "anchored", "tenses")
_LISTS = ("memory_ids", "conversations", "positions", "roles", "names", "channels", "terms")


def evidence_parameters(
    source: Source,
    request: Request,
    words: Words,
    found: Mapping[str, Sequence[UUID]],
    expanded: int,
) -> dict[str, Any]:
    """What `mnemic.evidence` looks at: what was found, and the first `expanded` of each technique."""
    return {
        **source.parameters(request),
        "ids": list({memory_id for candidates in found.values() for memory_id in candidates}),
        "expanded_ids": list({one for candidates in found.values() for one in candidates[:expanded]}),
        "expanded": expanded,
        "terms": list(words.known.terms),
        "sample": list(words.known.sample),
        "reach": NEIGHBOUR_REACH,
    }


def columns_of(row: Row, found: Mapping[str, Sequence[UUID]]) -> dict[str, Any]:
    """The columns of a pool from the arrays that the database gave."""
    columns: dict[str, Any] = {name: tuple(row[name] or ()) for name in _LISTS}
    columns |= {name: np.array(row[name] or (), float) for name in _FLOATS}
    # Hashing an id is slow in Python, so each member and each candidate is looked up just once.
    places = {memory_id: place for place, memory_id in enumerate(columns["memory_ids"])}
    found_by: list[tuple[str, ...]] = [()] * len(places)
    for name, candidates in found.items():
        for memory_id in candidates:
            if (place := places.get(memory_id)) is not None:
                found_by[place] += (name,)
    columns["found_by"] = tuple(names or ("neighbours",) for names in found_by)
    return columns


class Turns:
    """Which members of a pool stand next to which, for evidence from neighbouring turns.

    Where a turn was cut into chunks, the first one in the pool stands for it.
    """

    def __init__(self, conversations: Sequence[str | None], positions: Sequence[int | None]) -> None:
        self._keys = [
            (conversation, position) for conversation, position in zip(conversations, positions, strict=True)
        ]
        self._shifts: dict[int, npt.NDArray[np.int_]] = {}
        self._places: dict[tuple[str | None, int | None], int] = {}
        for place, key in enumerate(self._keys):
            if key[1] is not None:
                self._places.setdefault(key, place)

    def place(self, place: int, offset: int) -> int | None:
        """The member `offset` turns behind this one (before it, if negative)."""
        conversation, position = self._keys[place]
        return None if position is None else self._places.get((conversation, position + offset))

    def shifted(self, values: Floats, offset: int) -> Floats:
        """For each member the value of the one `offset` turns away, 0 where there is none."""
        if offset not in self._shifts:
            places = (
                -1 if position is None else self._places.get((conversation, position + offset), -1)
                for conversation, position in self._keys
            )
            self._shifts[offset] = np.fromiter(places, int, len(self._keys))
        shifted: Floats = np.append(values, 0.0)[self._shifts[offset]]
        return shifted
