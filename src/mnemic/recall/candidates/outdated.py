"""Which candidates are outdated by newer ones.

Marks that were found or decided come with the candidates (mnemic.candidate_features). Memories that were
stored just now are not compared yet, so that candidates of one frame (`text_analysis/frames.py`) are compared
here, too: it takes a fraction of a millisecond, and the answer does not depend on when comparing was done.

A mark counts only if the newer memory is a candidate itself: then it passes the filter, and it was known at
`as_of`. The searches make the newer memory of every outdated candidate a candidate. What a grant opens has no
marks: whether one was found depends on all memories of the giver. Its candidates are compared here alone.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from json import loads
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.id_arrays import Key
from mnemic.text_analysis.frames import (
    CERTAINTY_OF_FRAMES,
    REASON_OF_FRAMES,
    Frame,
    read_frame,
    without_list_marker,
)

LIKELY_CERTAINTY = 0.5
"""From this certainty on, a mark is shown, and an overview leaves the older memory out."""


BEGINNING_CHARACTERS = 12
"""Statements of one frame in the same words begin alike. Few other candidates do, so that few are read; those
in other words are compared in the background."""


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
    """The marks of memories, each with the key of the newer memory, the certainty and the reason.

    A certainty of 0 means that the older memory was decided to be current.
    """

    by_key: Mapping[Key, Sequence[tuple[Key, float, str]]]

    def among(self, keys: Sequence[Key]) -> OutdatedCandidates:
        """The marks of which both memories are among these; the surest one of each older memory."""
        if not self.by_key:
            return {}
        indexes = {key: index for index, key in enumerate(keys)}
        found: dict[int, OutdatedCandidate] = {}
        for older, marks in self.by_key.items():
            known = [mark for mark in marks if mark[0] in indexes and mark[1]]
            if older in indexes and known:
                newer, certainty, reason = max(known, key=lambda mark: mark[1])
                found[indexes[older]] = OutdatedCandidate(indexes[newer], certainty, reason)
        return found

    def is_decided(self, older: Key, newer: Key) -> bool:
        """Whether the older memory was decided to be current beside the newer one."""
        return any(key == newer and not certainty for key, certainty, _ in self.by_key.get(older, ()))


def same_frame_candidates(row: Row, marks: Marks) -> OutdatedCandidates:
    """Candidates that give an older value in the frame of a newer one, with the newest that gives another.

    `row` has the features of candidates, in columns.
    """
    found: dict[int, OutdatedCandidate] = {}
    for newest_first in _by_frame(row):
        for rank, (index, frame) in enumerate(newest_first):
            for newer, newer_frame in newest_first[:rank]:
                keys = (row["memory_ids"][index], row["memory_ids"][newer])
                if frame.gives_other_value(newer_frame) and not marks.is_decided(*keys):
                    found[index] = OutdatedCandidate(newer, CERTAINTY_OF_FRAMES, REASON_OF_FRAMES)
                    break
    return found


def _by_frame(row: Row) -> Iterator[list[tuple[int, Frame]]]:
    """The candidates that share a frame and a channel, newest first."""
    beginnings: dict[str, list[int]] = defaultdict(list)
    columns = zip(row["content"], row["whole_id"], row["category"], strict=True)
    for index, (content, whole_id, category) in enumerate(columns):
        if content is not None and whole_id is None and category != "reference":
            beginnings[without_list_marker(content)[:BEGINNING_CHARACTERS].casefold()].append(index)
    frames: dict[tuple[str, str], list[tuple[int, Frame]]] = defaultdict(list)
    for index in (index for indexes in beginnings.values() if len(indexes) > 1 for index in indexes):
        if (frame := read_frame(row["content"][index])) is not None:
            key = frame.key_of(row["names"][index] or row["roles"][index])
            frames[row["channels"][index], key].append((index, frame))
    for sharing in frames.values():
        if len(sharing) > 1:
            yield sorted(
                sharing,
                key=lambda each: (row["happened_at_s"][each[0]], row["memory_ids"][each[0]]),
                reverse=True,
            )


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
