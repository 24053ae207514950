"""Numbers as coordinates, for templates that draw them as SVG. Nothing here knows colours.

Coordinates are rounded to a tenth, which no screen shows and which makes pages smaller.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

GAP = 0.28
"""The part of a bar's place that stays empty."""
STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Bar:
    """One bar of a chart."""

    x: float
    y: float
    width: float
    height: float
    label: str
    value: float


def axis_top(value: float) -> float:
    """The number at the top of an axis: 1, 2, 2.5 or 5 times a power of ten, at least `value`."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in STEPS if step * power >= value * (1 - 1e-9))


def bars(values: Sequence[tuple[str, float]], *, width: float, height: float) -> tuple[list[Bar], float]:
    """One bar for each label and value, and the number at the top of the axis."""
    top = axis_top(max((value for _, value in values), default=0))
    place = width / max(len(values), 1)
    made = [
        Bar(
            x=round(index * place + place * GAP / 2, 1),
            y=round(height * (1 - value / top), 1),
            width=round(place * (1 - GAP), 1),
            height=round(height * value / top, 1),
            label=label,
            value=value,
        )
        for index, (label, value) in enumerate(values)
    ]
    return made, top


def line(values: Sequence[float | None], *, width: float, height: float, top: float) -> list[str]:
    """The points of a line, as one text for each piece without a gap; None is a gap."""
    step = width / max(len(values) - 1, 1)
    pieces: list[list[str]] = [[]]
    for index, value in enumerate(values):
        if value is None:
            pieces.append([])
        else:
            pieces[-1].append(f"{index * step:.1f},{height * (1 - value / top):.1f}")
    return [" ".join(piece) for piece in pieces if piece]


def share(value: float, most: float) -> float:
    """How much of a track of 100 a value fills."""
    return round(100 * value / most, 1) if most > 0 else 0.0
