"""Charts of numbers over time, as paths for templates that draw them as SVG.

One path for all bars of a layer or all points of a line: a shape for each would make a page of a week by hour
four times as large. Points are in the middle of their places.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mnemic.dashboard.charts import axis_top

WIDTH = 600
HEIGHT = 120
GAP = 0.28
"""The part of a bar's place that stays empty."""
WIDE_BARS_MAX = 48
"""More bars than these are drawn close together, and labelled by day."""
DAYS_BETWEEN_LABELS = 7
HOURS_BETWEEN_LABELS = 4


@dataclass(frozen=True)
class Row:
    """Numbers of one name, one for each point in time; None is a gap. `style` is a class of the style."""

    name: str
    style: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Layer:
    """A row as a path."""

    name: str
    style: str
    path: str


@dataclass(frozen=True)
class Tick:
    """A label at an axis."""

    at: float
    label: str


@dataclass(frozen=True)
class TimeChart:
    """Layers from the bottom up, with the labels of both axes. It `is_empty` if all numbers are 0 or gaps."""

    layers: Sequence[Layer]
    levels: Sequence[Tick]
    times: Sequence[Tick]
    is_empty: bool


def lines(rows: Sequence[Row], times: Sequence[datetime], *, unit: str = "") -> TimeChart:
    """A line for each row."""
    highest = max((value for row in rows for value in row.values if value is not None), default=0)
    top = axis_top(highest)
    drawn = [Layer(row.name, row.style, _line(row.values, top)) for row in rows]
    return TimeChart(drawn, _levels(top, unit), _times(times), is_empty=not highest)


def columns(rows: Sequence[Row], times: Sequence[datetime], *, unit: str = "") -> TimeChart:
    """Bars, those of each row stacked on those of the rows before it."""
    numbers = [[value or 0 for value in row.values] for row in rows]
    totals = [sum(at) for at in zip(*numbers, strict=True)]
    top = axis_top(max(totals, default=0))
    below = [0.0] * len(totals)
    drawn = []
    for row, values in zip(rows, numbers, strict=True):
        drawn.append(Layer(row.name, row.style, _bars(values, below, top)))
        below = [one + other for one, other in zip(below, values, strict=True)]
    return TimeChart(drawn, _levels(top, unit), _times(times), is_empty=not any(totals))


def axis_text(value: float, unit: str = "") -> str:
    """A number at an axis, in few characters; `unit` comes before it."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size * 10 or (value >= size and letter != "k"):
            return f"{unit}{value / size:g} {letter}"
    return f"{unit}{value:,.4g}"


def _line(values: Sequence[float | None], top: float) -> str:
    place = WIDTH / max(len(values), 1)
    drawn: list[str] = []
    for index, value in enumerate(values):
        if value is None:
            continue
        follows = index > 0 and values[index - 1] is not None
        is_alone = not follows and (index + 1 == len(values) or values[index + 1] is None)
        point = f"{(index + 0.5) * place:.0f} {HEIGHT * (1 - value / top):.0f}"
        drawn.append(f"{'L' if follows else 'M'}{point}{'m-5 0h10' if is_alone else ''}")
    return "".join(drawn)


def _bars(values: Sequence[float], below: Sequence[float], top: float) -> str:
    place = WIDTH / max(len(values), 1)
    # Narrow bars are drawn to the pixel, which makes their path shorter.
    gap, digits = (GAP, 1) if len(values) <= WIDE_BARS_MAX else (GAP / 2, 0)
    width = f"{place * (1 - gap):.1f}"
    drawn = []
    for index, value in enumerate(values):
        if value > 0:
            foot, head = (HEIGHT * (1 - part / top) for part in (below[index], below[index] + value))
            x = f"{(index + gap / 2) * place:.1f}"
            drawn.append(f"M{x} {foot:.{digits}f}V{min(head, foot - 1):.{digits}f}h{width}V{foot:.{digits}f}")
    return "".join(drawn)


def _levels(top: float, unit: str) -> list[Tick]:
    return [Tick(HEIGHT * part, axis_text(top * (1 - part), unit)) for part in (0, 0.5, 1)]


def _times(times: Sequence[datetime]) -> list[Tick]:
    place = WIDTH / max(len(times), 1)
    is_by_day = len(times) > 1 and times[1] - times[0] >= timedelta(days=1)
    if is_by_day:
        last = len(times) - 1
        shown = [(at, "%-d %b") for at in range(len(times)) if (last - at) % DAYS_BETWEEN_LABELS == 0]
    elif len(times) > WIDE_BARS_MAX:
        shown = [(at, "%-d %b") for at in range(len(times)) if times[at].hour == 0]
    else:
        shown = [(at, "%H:%M") for at in range(len(times)) if times[at].hour % HOURS_BETWEEN_LABELS == 0]
    return [Tick(round((at + 0.5) * place, 1), times[at].strftime(form)) for at, form in shown]
