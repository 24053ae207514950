"""The parts of scores as coordinates: a stacked bar and a waterfall for each hit, on a scale of 100."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from mnemic.types.recalled import Hit

Family = Literal["meaning", "words", "around", "known"]
FAMILIES: Mapping[Family, str] = {
    "meaning": "meaning",
    "words": "words",
    "around": "turns around it",
    "known": "what is known about it",
}
AROUND = ("before", "after", "around", "conversation")
OF_FAMILY: Mapping[str, Family] = {
    "meaning": "meaning",
    "cosine": "meaning",
    "words": "words",
    "coverage": "words",
    "exact token": "words",
}
RERANKER = "reranker"
"""The only score that is no part of the sum: it replaces it."""
SMALLEST_SHOWN = 0.005
BAR_MIN = 0.6
"""The width of a part that would be invisible."""


@dataclass(frozen=True)
class Segment:
    """A part of a bar, from 0 to 100."""

    name: str
    family: str
    value: float
    x: float
    width: float


def family_of(part: str) -> Family:
    """Where a part of a score comes from."""
    if any(word in part for word in AROUND):
        return "around"
    return OF_FAMILY.get(part, "known")


def scale_of(hits: Iterable[Hit]) -> float:
    """The largest sum of positive parts: the length of the longest bar."""
    sums = [sum(value for value in _parts(hit).values() if value > 0) for hit in hits]
    return max(sums, default=0.0) or 1.0


def stacked(hit: Hit, scale: float) -> list[Segment]:
    """The families of a hit side by side; families that count against it are left out."""
    sums: dict[str, float] = dict.fromkeys(FAMILIES, 0.0)
    for name, value in _parts(hit).items():
        sums[family_of(name)] += value
    made: list[Segment] = []
    x = 0.0
    for family, value in sums.items():
        width = min(100 * value / scale, 100 - x)
        if width > 0:
            made.append(Segment(family, family, value, round(x, 2), round(width, 2)))
            x += width
    return made


def waterfall(parts: Mapping[str, float]) -> list[Segment]:
    """The parts, largest first, each starting where the one before ended; negative ones go back."""
    found = sorted(
        ((name, value) for name, value in parts.items() if abs(value) >= SMALLEST_SHOWN and name != RERANKER),
        key=lambda part: -abs(part[1]),
    )
    ends = [0.0]
    for _, value in found:
        ends.append(ends[-1] + value)
    low, high = min(ends), max(ends)
    scale = 100 / ((high - low) or 1.0)
    return [
        Segment(
            name,
            family_of(name) if value > 0 else "against",
            value,
            round((min(start, start + value) - low) * scale, 2),
            round(max(abs(value) * scale, BAR_MIN), 2),
        )
        for (name, value), start in zip(found, ends, strict=False)
    ]


def _parts(hit: Hit) -> dict[str, float]:
    if hit.explain is None:
        return {}
    return {name: value for name, value in hit.explain.scores.items() if name != RERANKER}
