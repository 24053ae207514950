"""The pool: every memory that may become a hit, column by column, with all that ranking looks at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mnemic.db.connection import Row
from mnemic.db.id_arrays import Key
from mnemic.recall.candidates.lexical import Words
from mnemic.recall.readable_owners import Source

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
    """Memories of one source. `cosines` is NaN where a memory has no vector, `terms` are bits by term.

    `origins` says in which row of the database, and where in its arrays, each member came.
    """

    source: Source
    words: Words
    keys: Sequence[Key]
    origins: Sequence[tuple[Row, int]]
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
        return len(self.keys)


_FLOATS = ("bytes", "happened_at_s", "confidences", "usefulnesses", "saliences", "anchored", "tenses")
_LISTS = ("conversations", "positions", "roles", "names", "channels", "terms")


class Columns:
    """The columns of a pool, put together from the arrays of each row that the database gave.

    Each memory counts once, where it came first.
    """

    def __init__(self) -> None:
        self._places: dict[Key, int] = {}
        self._origins: list[tuple[Row, int]] = []
        self._values: dict[str, list[Any]] = {name: [] for name in (*_LISTS, *_FLOATS)}

    def add(self, row: Row | None) -> None:
        """Append what is in a row, if there is one, but for the memories that are there already."""
        keys = row["memory_ids"] if row is not None else None
        if row is None or keys is None:
            return
        new = [place for place, key in enumerate(keys) if key not in self._places]
        for name, values in self._values.items():
            values += row[name] if len(new) == len(keys) else [row[name][place] for place in new]
        for place in new:
            self._places[keys[place]] = len(self._places)
            self._origins.append((row, place))

    def joined(self, found: Mapping[str, Sequence[Key]]) -> dict[str, Any]:
        """All of them, and by which techniques each memory was found."""
        columns: dict[str, Any] = {name: tuple(self._values[name]) for name in _LISTS}
        columns |= {name: np.array(self._values[name], float) for name in _FLOATS}
        found_by: list[tuple[str, ...]] = [()] * len(self._places)
        for name, candidates in found.items():
            for key in candidates:
                if (place := self._places.get(key)) is not None:
                    found_by[place] += (name,)
        return columns | {
            "keys": list(self._places),
            "origins": self._origins,
            "found_by": tuple(names or ("neighbours",) for names in found_by),
        }


class Turns:
    """Which members of a pool stand next to which, for evidence from neighbouring turns.

    Where a turn was cut into chunks, the first one in the pool stands for it.
    """

    def __init__(self, conversations: Sequence[str | None], positions: Sequence[int | None]) -> None:
        self._places = _neighbouring_places(conversations, positions)

    def place(self, place: int, offset: int) -> int | None:
        """The member `offset` turns behind this one (before it, if negative), at most `NEIGHBOUR_REACH`."""
        found = int(self._places[offset + NEIGHBOUR_REACH, place])
        return found if found >= 0 else None

    def shifted(self, values: Floats, offset: int) -> Floats:
        """For each member the value of the one `offset` turns away, 0 where there is none."""
        shifted: Floats = np.append(values, 0.0)[self._places[offset + NEIGHBOUR_REACH]]
        return shifted


def _neighbouring_places(
    conversations: Sequence[str | None], positions: Sequence[int | None]
) -> npt.NDArray[np.int_]:
    """For each offset from -NEIGHBOUR_REACH on, the place of each member's neighbour; -1 where it has none.

    Every turn gets a number, those of one conversation in a row with room at its end, so that one search
    among the sorted numbers finds all neighbours. What has no position gets one far from all others.
    """
    talks: dict[str | None, int] = {}
    talk_of = np.array([talks.setdefault(name, len(talks)) for name in conversations], np.int64)
    position_of = np.array([_NOWHERE if position is None else position for position in positions], np.int64)
    room = position_of.max(initial=0) + NEIGHBOUR_REACH + 1
    numbers = np.where(position_of == _NOWHERE, _NOWHERE, talk_of * room + position_of)
    order = numbers.argsort(kind="stable")
    wanted = numbers + _OFFSETS
    found = np.minimum(numbers[order].searchsorted(wanted), len(order) - 1) if len(order) else wanted
    places: npt.NDArray[np.int_] = np.where(numbers[order[found]] == wanted, order[found], -1)
    return places


_NOWHERE = -(2**40)
_OFFSETS = np.arange(-NEIGHBOUR_REACH, NEIGHBOUR_REACH + 1)[:, None]
