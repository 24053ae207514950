"""The map of memories as coordinates for a template, which draws it as SVG.

The most salient memories are links. The others are dots, many in one path: that keeps the page small.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
    area = _area(found.points) if region is not None else (np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    places = [_scaled((point.x, point.y), area) for point in found.points]
    drawn = [
        DrawnPoint(point, x, y, COLOURS[point.category])
        for point, (x, y) in zip(found.points, places, strict=True)
    ]
    dots: dict[int, list[str]] = {}
    for each in drawn[LINKED_MAX:]:
        # A line of no length with round ends is a dot.
        dots.setdefault(each.colour, []).append(f"M{each.x} {each.y}h0")
    return MapDrawing(
        linked=drawn[:LINKED_MAX],
        dots={colour: "".join(parts) for colour, parts in sorted(dots.items())},
        regions=_names([each for each in found.regions if each.words], area) if region is None else [],
    )


def _names(regions: Sequence[MapRegion], area: tuple[np.ndarray, np.ndarray]) -> list[DrawnRegion]:
    """The names of the regions, beside each other."""
    if not regions:
        return []
    texts = [", ".join(each.words) for each in regions]
    points = np.array([_scaled((each.x, each.y), area) for each in regions], np.float32)
    sizes = np.array([(len(text) * CHARACTER_WIDTH, LABEL_HEIGHT) for text in texts], np.float32)
    free = np.array([sizes[:, 0].max() / 2, LABEL_HEIGHT], np.float32)
    placed = push_apart(points, sizes, free, np.array([WIDTH, HEIGHT], np.float32) - free)
    return [
        DrawnRegion(each, text, int(x), int(y))
        for each, text, (x, y) in zip(regions, texts, placed, strict=True)
    ]


def _area(points: Sequence[MapPoint]) -> tuple[np.ndarray, np.ndarray]:
    """The part of the map that holds these points."""
    if not points:
        return np.array([-1.0, -1.0]), np.array([1.0, 1.0])
    places = np.array([(point.x, point.y) for point in points])
    low, high = places.min(axis=0), places.max(axis=0)
    around = np.maximum((high - low) * AROUND, SPAN_MIN)
    return low - around, high + around


def _scaled(point: tuple[float, float], area: tuple[np.ndarray, np.ndarray]) -> tuple[int, int]:
    low, high = area
    part_x, part_y = (point[0] - low[0]) / (high[0] - low[0]), (point[1] - low[1]) / (high[1] - low[1])
    # Upwards on the map is upwards on the screen.
    return round(MARGIN + part_x * (WIDTH - 2 * MARGIN)), round(MARGIN + (1 - part_y) * (HEIGHT - 2 * MARGIN))
