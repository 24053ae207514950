"""What a level lost, which questions it still answers, and when the full text is needed."""

from dataclasses import dataclass

from mnemic.context.levels.level import EVICTED, Level
from mnemic.context.levels.sketch import Sketch

_Facts = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Counts:
    """What the source has, and how much of it a level shows."""

    lines: int
    lines_shown: int = 0
    names: int = 0
    names_listed: int = 0


def facts_of(level: Level, sketch: Sketch | None, counts: Counts) -> _Facts:
    """Lost, can_answer and fault_when of a level."""
    if level == EVICTED or sketch is None:
        return (f"all {counts.lines} lines",), (), ("anything about it is asked",)
    if level == 3:
        return (f"all {counts.lines} lines",), (f"that it was read: {sketch.title}",), _FAULTS[sketch.shape]
    part = _PARTS[sketch.shape]
    left = max(0, counts.lines - counts.lines_shown)
    lost = [f"{left} of {counts.lines} lines"]
    if sketch.units and level == 1:
        lost.append(part.lost.format(sketch.units))
    can_answer = [part.answers_1.format(sketch.units) if level == 1 else part.answers_2.format(sketch.units)]
    if counts.names:
        can_answer.append(f"whether it mentions one of {counts.names_listed} names of {counts.names}")
    return tuple(lost), tuple(can_answer), _FAULTS[sketch.shape]


@dataclass(frozen=True, slots=True)
class _Part:
    lost: str
    answers_1: str
    answers_2: str


_PARTS = {
    "code": _Part(
        "most of the bodies of {} definitions", "what its {} definitions take", "what it defines: {} names"
    ),
    "output": _Part(
        "what is around {} errors", "how it began and ended, and {} errors", "how it ended, {} errors"
    ),
    "search": _Part(
        "hits after the first in {} files", "where the first hits in {} files are", "which {} files it found"
    ),
    "diff": _Part(
        "unchanged lines of {} files", "what changed in {} files", "which {} files changed, and how much"
    ),
    "data": _Part(
        "long values and later elements, {} keys kept", "its shape and {} keys", "its shape and {} keys"
    ),
    "prose": _Part("sentences under {} headings", "its main points under {} headings", "its {} headings"),
}
_FAULTS = {
    "code": ("editing the file", "reading a body"),
    "output": ("an exact line or number of the output is needed",),
    "search": ("a hit other than the first of a file is needed",),
    "diff": ("the exact change is needed, to apply or review it",),
    "data": ("a value that is cut or left out is needed",),
    "prose": ("a quotation or a detail is needed",),
}
