"""The pool: every memory that may become a hit, column by column, with all that ranking looks at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mnemic.db.connection import Row
from mnemic.db.id_arrays import Key
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


def columns_of(rows: Sequence[Row], found: Mapping[str, Sequence[Key]]) -> dict[str, Any]:
    """The columns of a pool from the arrays of each row that the database gave; each memory counts once."""
    places: dict[Key, int] = {}
    parts: list[tuple[Row, Sequence[int] | None]] = []
    origins: list[tuple[Row, int]] = []
    for row in rows:
        new = [place for place, key in enumerate(row["memory_ids"] or ()) if key not in places]
        parts.append((row, new if places else None))
        origins += [(row, place) for place in new]
        places |= {row["memory_ids"][place]: len(places) + number for number, place in enumerate(new)}
    columns: dict[str, Any] = {name: tuple(_joined(parts, name)) for name in _LISTS}
    columns |= {name: np.array(_joined(parts, name), float) for name in _FLOATS}
    columns["keys"] = list(places)
    columns["origins"] = origins
    found_by: list[tuple[str, ...]] = [()] * len(places)
    for name, candidates in found.items():
        for key in candidates:
            if (place := places.get(key)) is not None:
                found_by[place] += (name,)
    columns["found_by"] = tuple(names or ("neighbours",) for names in found_by)
    return columns


def _joined(parts: Sequence[tuple[Row, Sequence[int] | None]], name: str) -> list[Any]:
    """A column of all rows, one behind the other; of a row its places, or all of it."""
    joined: list[Any] = []
    for row, places in parts:
        values = row[name] or ()
        joined += values if places is None else [values[place] for place in places]
    return joined


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
