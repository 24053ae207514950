"""The map of memories as coordinates for a template, which draws it as SVG.

The most salient memories are links. The others are dots, many in one path: that keeps the page small.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mnemic.dashboard.graph_layout import push_apart
from mnemic.types.memory import CATEGORIES
from mnemic.types.memory_map import MapPoint, MapRegion, MemoryMap

WIDTH, HEIGHT = 760, 520
MARGIN = 24.0
LINKED_MAX = 100
CHARACTER_WIDTH = 7.4
LABEL_HEIGHT = 18.0
# How much is shown around a chosen region, as a part of its size, and at least.
AROUND, SPAN_MIN = 0.08, 0.05
SIZE = np.array([WIDTH, HEIGHT], np.float64)
Places = npt.NDArray[np.float64]
Area = tuple[Places, Places]
WHOLE: Area = (np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
COLOURS: dict[str, int] = {category: min(number, 6) for number, category in enumerate(CATEGORIES, start=1)}
"""The colour of each category, the same on every map."""


@dataclass(frozen=True)
class DrawnPoint:
    """A memory that is a link."""

    point: MapPoint
    x: int
    y: int
    colour: int


@dataclass(frozen=True)
class DrawnRegion:
    """The name of a region."""

    region: MapRegion
    text: str
    x: int
    y: int


@dataclass(frozen=True)
class MapDrawing:
    """What the template draws: `dots` has a path for each colour."""

    linked: list[DrawnPoint]
    dots: dict[int, str]
    regions: list[DrawnRegion]
    width: int = WIDTH
    height: int = HEIGHT


def draw_map(found: MemoryMap, region: int | None) -> MapDrawing:
    """The positions of the points and names; of a single region, if one is chosen."""
    places = np.array([(point.x, point.y) for point in found.points]).reshape(-1, 2)
    area = WHOLE if region is None or not len(places) else _area(places)
    drawn = list(zip(found.points, _scaled(places, area), strict=True))
    dots: dict[int, list[str]] = {}
    for point, (x, y) in drawn[LINKED_MAX:]:
        # A line of no length with round ends is a dot.
        dots.setdefault(COLOURS[point.category], []).append(f"M{x} {y}h0")
    return MapDrawing(
        linked=[DrawnPoint(point, x, y, COLOURS[point.category]) for point, (x, y) in drawn[:LINKED_MAX]],
        dots={colour: "".join(parts) for colour, parts in sorted(dots.items())},
        regions=_names([each for each in found.regions if each.words], drawn) if region is None else [],
    )


def _names(
    regions: Sequence[MapRegion], drawn: Sequence[tuple[MapPoint, Sequence[int]]]
) -> list[DrawnRegion]:
    """The names of the regions, each above most of its points, beside each other."""
    if not regions:
        return []
    texts = [", ".join(each.words) for each in regions]
    heights: dict[int, list[int]] = {}
    for point, (_, y) in drawn:
        heights.setdefault(point.region, []).append(y)
    points = np.array(_scaled(np.array([(each.x, each.y) for each in regions]), WHOLE), np.float32)
    points[:, 1] -= [LABEL_HEIGHT + float(np.std(heights.get(each.region, [0]))) for each in regions]
    sizes = np.array([(len(text) * CHARACTER_WIDTH, LABEL_HEIGHT) for text in texts], np.float32)
    free = np.array([sizes[:, 0].max() / 2, LABEL_HEIGHT], np.float32)
    placed = push_apart(points, sizes, free, np.array([WIDTH, HEIGHT], np.float32) - free)
    return [
        DrawnRegion(each, text, int(x), int(y))
        for each, text, (x, y) in zip(regions, texts, placed, strict=True)
    ]


def _area(places: Places) -> Area:
    """The part of the map that holds these points."""
    low, high = places.min(axis=0), places.max(axis=0)
    around = np.maximum((high - low) * AROUND, SPAN_MIN)
    return low - around, high + around


def _scaled(places: Places, area: Area) -> list[list[int]]:
    """Positions on the screen, whose vertical axis points down."""
    low, high = area
    parts = (places - low) / (high - low)
    parts[:, 1] = 1 - parts[:, 1]
    scaled: list[list[int]] = np.rint(MARGIN + parts * (SIZE - 2 * MARGIN)).astype(int).tolist()
    return scaled
