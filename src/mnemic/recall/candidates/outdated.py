"""Which candidates are outdated by newer ones, as the searches read it (mnemic.candidate_features).

A mark counts only if the newer memory is a candidate itself: then it passes the filter, and it was known at
`as_of`. The searches make the newer memory of every outdated candidate a candidate. What a grant opens has no
marks: whether one was found depends on all memories of the giver.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import loads
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.id_arrays import Key

LIKELY_CERTAINTY = 0.5
"""From this certainty on, a mark is shown, and an overview leaves the older memory out."""


@dataclass(frozen=True, slots=True)
class OutdatedCandidate:
    """The index of the newer candidate, how sure the mark is, and why."""

    newer: int
    certainty: float
    reason: str


OutdatedCandidates = Mapping[int, OutdatedCandidate]
"""For each outdated candidate of a pool, by index, the candidate that outdates it."""


@dataclass(frozen=True)
class Marks:
    """The marks of memories, each with the key of the newer memory, the certainty and the reason."""

    by_key: Mapping[Key, Sequence[tuple[Key, float, str]]]

    def among(self, keys: Sequence[Key]) -> OutdatedCandidates:
        """The marks of which both memories are among these; the surest one of each older memory."""
        if not self.by_key:
            return {}
        indexes = {key: index for index, key in enumerate(keys)}
        found: dict[int, OutdatedCandidate] = {}
        for older, marks in self.by_key.items():
            known = [mark for mark in marks if mark[0] in indexes]
            if older in indexes and known:
                newer, certainty, reason = max(known, key=lambda mark: mark[1])
                found[indexes[older]] = OutdatedCandidate(indexes[newer], certainty, reason)
        return found


def outdated_candidates(rows: Sequence[Row | None]) -> Marks:
    """The marks in the rows of the searches."""
    marks: dict[Key, Sequence[tuple[Key, float, str]]] = {}
    for row in rows:
        if row is None or row["memory_ids"] is None:
            continue
        for key, written in zip(row["memory_ids"], row["outdated"], strict=True):
            if written is not None:
                marks[key] = [(UUID(newer).bytes, sure, why) for newer, sure, why in loads(written)]
    return Marks(marks)
