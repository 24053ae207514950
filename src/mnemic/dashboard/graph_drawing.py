"""A graph of entities as coordinates for a template, which draws it as SVG."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from mnemic.dashboard.graph_layout import place_nodes
from mnemic.types.entity import EntityGraph, EntityNode, EntityRelation

WIDTH, HEIGHT = 760, 500
MARGIN = (64.0, 34.0)
LABEL_HEIGHT = 40.0
# About the width of a character of a label.
CHARACTER_WIDTH = 6.1
LABEL_MAX_CHARACTERS = 22
RADIUS_MIN, RADIUS_MAX = 6.0, 14.0
# Relations that are drawn, the most certain ones; all are counted.
RELATIONS_MAX = 120
# Beyond, the kinds of relations would cover each other.
NAMED_RELATIONS_MAX = 24
COLOURS = 6
"""Colours of categories; further categories share the last one."""


@dataclass(frozen=True)
class DrawnNode:
    """An entity: a circle with a label."""

    entity_id: UUID
    name: str
    label: str
    category: str
    colour: int
    x: float
    y: float
    radius: float
    is_centre: bool


@dataclass(frozen=True)
class DrawnRelation:
    """A relation: a line between the borders of two circles, with an arrow at its end."""

    start: str
    kind: str
    end: str
    confidence: float
    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def middle(self) -> tuple[float, float]:
        """Where its kind is written."""
        return round((self.x1 + self.x2) / 2, 1), round((self.y1 + self.y2) / 2, 1)


@dataclass(frozen=True)
class Drawing:
    """What the template draws."""

    nodes: list[DrawnNode]
    relations: list[DrawnRelation]
    categories: dict[str, int]
    names_relations: bool
    relation_count: int
    width: int = WIDTH
    height: int = HEIGHT


def draw_graph(graph: EntityGraph, centre: UUID | None = None) -> Drawing:
    """The positions of the nodes and lines of a graph."""
    place = {node.entity_id: index for index, node in enumerate(graph.nodes)}
    shown = sorted(graph.relations, key=lambda each: -each.confidence)[:RELATIONS_MAX]
    points = place_nodes(
        len(graph.nodes),
        [(place[each.from_id], place[each.to_id]) for each in shown],
        width=WIDTH,
        height=HEIGHT,
        margin=MARGIN,
        label_widths=[len(_label(node.name)) * CHARACTER_WIDTH for node in graph.nodes],
        label_height=LABEL_HEIGHT,
    )
    colours = colours_of(node.category for node in graph.nodes)
    nodes = [
        _node(node, (float(x), float(y)), colours[node.category], is_centre=node.entity_id == centre)
        for node, (x, y) in zip(graph.nodes, points, strict=True)
    ]
    by_id = {node.entity_id: node for node in nodes}
    return Drawing(
        nodes=nodes,
        relations=[_line(each, by_id[each.from_id], by_id[each.to_id]) for each in shown],
        categories=colours,
        names_relations=len(shown) <= NAMED_RELATIONS_MAX,
        relation_count=len(graph.relations),
    )


def colours_of(categories: Iterable[str]) -> dict[str, int]:
    """A number from 1 for each category, in the order of their frequency; it selects the colour."""
    counted = sorted(Counter(categories).items(), key=lambda each: (-each[1], each[0]))
    return {category: min(number, COLOURS) for number, (category, _) in enumerate(counted, start=1)}


def _node(node: EntityNode, point: tuple[float, float], colour: int, *, is_centre: bool) -> DrawnNode:
    radius = RADIUS_MIN + (RADIUS_MAX - RADIUS_MIN) * node.salience
    return DrawnNode(
        node.entity_id,
        node.name,
        _label(node.name),
        node.category,
        colour,
        round(point[0], 1),
        round(point[1], 1),
        round(radius, 1),
        is_centre,
    )


def _line(relation: EntityRelation, start: DrawnNode, end: DrawnNode) -> DrawnRelation:
    across, down = end.x - start.x, end.y - start.y
    length = math.hypot(across, down) or 1.0
    # Up to the borders of the circles; two circles that touch have a line of no length.
    first = min(start.radius / length, 0.5)
    last = max(1 - (end.radius + 3) / length, 0.5)
    return DrawnRelation(
        start.name,
        relation.kind,
        end.name,
        relation.confidence,
        round(start.x + across * first, 1),
        round(start.y + down * first, 1),
        round(start.x + across * last, 1),
        round(start.y + down * last, 1),
    )


def _label(name: str) -> str:
    return name if len(name) <= LABEL_MAX_CHARACTERS else f"{name[: LABEL_MAX_CHARACTERS - 1]}…"
