"""Two simple plots as SVG, without a library: grouped bars, and lines over a logarithmic axis."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 40, 76
COLOURS = ("#1f6feb", "#d29922", "#2da44e", "#8250df", "#cf222e", "#57606a")
GRID_COLOUR = "#d0d7de"
TEXT_COLOUR = "#57606a"
GRID_LINES = 5
BAR_SHARE = 0.8
LEGEND_COLUMNS, LEGEND_STEP, LEGEND_LINE = 4, 162, 20
PAGE_COLOUR = "#ffffff"


@dataclass(frozen=True)
class Bar:
    """One bar of a group; bars with the same name have the same colour."""

    name: str
    value: float


@dataclass(frozen=True)
class Bars:
    """Groups of bars from 0 to `most`."""

    title: str
    groups: Mapping[str, Sequence[Bar]]
    most: float

    def svg(self) -> str:
        """The whole image."""
        names = list(dict.fromkeys(bar.name for bars in self.groups.values() for bar in bars))
        parts = [*_grid(self.most, "{:.1f}"), *_legend(names)]
        step = (WIDTH - LEFT - RIGHT) / len(self.groups)
        for position, (label, bars) in enumerate(self.groups.items()):
            start = LEFT + position * step
            parts.append(_text(start + step / 2, HEIGHT - BOTTOM + 18, label, anchor="middle"))
            width = step * BAR_SHARE / len(bars)
            for number, bar in enumerate(bars):
                x = start + step * (1 - BAR_SHARE) / 2 + number * width
                parts.append(_bar(x, width, bar, self.most, COLOURS[names.index(bar.name) % len(COLOURS)]))
        return _picture(self.title, parts)


@dataclass(frozen=True)
class Series:
    """One line: pairs of x (above 0) and y."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Points:
    """Lines over a logarithmic axis."""

    title: str
    series: Sequence[Series]

    def svg(self) -> str:
        """The whole image."""
        positions = sorted({x for each in self.series for x, _ in each.points})
        most = max(y for each in self.series for _, y in each.points) * 1.1
        parts = [*_grid(most, "{:.0f}"), *_legend([each.name for each in self.series])]
        for x in positions:
            across = _across(x, positions)
            parts.append(_text(across, HEIGHT - BOTTOM + 18, f"{x:,.0f}", anchor="middle"))
        for each, colour in zip(self.series, COLOURS, strict=False):
            line = [(_across(x, positions), _down(y, most)) for x, y in each.points]
            path = " ".join(f"{across:.1f},{down:.1f}" for across, down in line)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in line]
        return _picture(self.title, parts)


def _across(x: float, positions: Sequence[float]) -> float:
    first, last = math.log(positions[0]), math.log(positions[-1])
    share = (math.log(x) - first) / (last - first) if last > first else 0.5
    margin = 30
    return LEFT + margin + share * (WIDTH - LEFT - RIGHT - 2 * margin)


def _down(value: float, most: float) -> float:
    return HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM)


def _grid(most: float, form: str) -> Iterator[str]:
    for number in range(GRID_LINES + 1):
        value = most * number / GRID_LINES
        y = _down(value, most)
        yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID_COLOUR}"/>'
        yield _text(LEFT - 8, y + 4, form.format(value), anchor="end")


def _legend(names: Sequence[str]) -> Iterator[str]:
    for position, name in enumerate(names):
        line, column = divmod(position, LEGEND_COLUMNS)
        x, y = LEFT + column * LEGEND_STEP, HEIGHT - BOTTOM + 34 + line * LEGEND_LINE
        colour = COLOURS[position % len(COLOURS)]
        yield f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}"/>'
        yield _text(x + 17, y + 10, name)


def _bar(x: float, width: float, bar: Bar, most: float, colour: str) -> str:
    y = _down(bar.value, most)
    height = HEIGHT - BOTTOM - y
    shown = f"{escape(bar.name)}: {bar.value:.3f}"
    size = f'x="{x:.1f}" y="{y:.1f}" width="{width * 0.92:.1f}" height="{height:.1f}"'
    return f'<rect {size} fill="{colour}"><title>{shown}</title></rect>'


def _text(x: float, y: float, text: str, *, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{TEXT_COLOUR}">{escape(text)}</text>'


def _picture(title: str, parts: Sequence[str]) -> str:
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    background = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAGE_COLOUR}"/>'
    heading = f'<text x="{LEFT}" y="22" font-size="14" font-weight="bold">{escape(title)}</text>'
    return "\n".join([head, background, heading, *parts, "</svg>", ""])
