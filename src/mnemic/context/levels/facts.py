"""What a level lost, which questions it still answers, and when the full text is needed."""

from dataclasses import dataclass

from mnemic.context.levels.level import EVICTED, Level
from mnemic.context.levels.sketch import Sketch, plural

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
    lost = [f"{left} of {counts.lines} lines" if counts.lines_shown else f"all {counts.lines} lines"]
    units = plural(sketch.units, part.unit)
    if sketch.units and level == 1:
        lost.append(part.lost.format(units))
    can_answer = [(part.answers_1 if level == 1 else part.answers_2).format(units)]
    if counts.names:
        can_answer.append(f"whether it mentions a name: {counts.names_listed} of {counts.names} are listed")
    return tuple(lost), tuple(can_answer), _FAULTS[sketch.shape]


@dataclass(frozen=True, slots=True)
class _Part:
    unit: str
    lost: str
    answers_1: str
    answers_2: str


_PARTS = {
    "code": _Part(
        "definition", "most of the bodies of {}", "the signatures of {}", "the names and lines of {}"
    ),
    "output": _Part("error", "what is around {}", "how it began and ended, and {}", "how it ended, and {}"),
    "search": _Part(
        "file", "hits after the first in {}", "where the first hits in {} are", "how often {} matched"
    ),
    "paths": _Part("path", "some of {}", "most of {}", "some of {}"),
    "diff": _Part("file", "unchanged lines of {}", "what changed in {}", "how many lines of {} changed"),
    "data": _Part("key", "long values and later elements of {}", "its shape and {}", "its shape and {}"),
    "prose": _Part("heading", "most sentences under {}", "the main points under {}", "the text of {}"),
}
_FAULTS = {
    "code": ("editing the file", "reading a body"),
    "output": ("an exact line or number of the output is needed",),
    "search": ("a hit other than the first of a file is needed",),
    "paths": ("a path that is not shown is needed",),
    "diff": ("the exact change is needed, to apply or review it",),
    "data": ("a value that is cut or left out is needed",),
    "prose": ("a quotation or a detail is needed",),
}
