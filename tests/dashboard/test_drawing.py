"""The layout of graphs, and the drawings of graphs and maps: the same each time, and within the picture."""

from datetime import UTC, datetime
from random import Random
from uuid import UUID

import numpy as np

from mnemic.dashboard.graph_drawing import HEIGHT, NAMED_RELATIONS_MAX, RELATIONS_MAX, WIDTH, draw_graph
from mnemic.dashboard.graph_layout import place_nodes
from mnemic.dashboard.map_drawing import HEIGHT as MAP_HEIGHT
from mnemic.dashboard.map_drawing import LINKED_MAX, draw_map
from mnemic.dashboard.map_drawing import WIDTH as MAP_WIDTH
from mnemic.types.entity import EntityGraph, EntityNode, EntityRelation
from mnemic.types.memory_map import MapPoint, MapRegion, MemoryMap

WHEN = datetime(2026, 3, 1, tzinfo=UTC)
BOX = {"width": 760.0, "height": 500.0, "margin": (64.0, 34.0), "label_height": 40.0}


def tree(count: int, seed: int = 1) -> list[tuple[int, int]]:
    random = Random(seed)
    return [(random.randrange(node), node) for node in range(1, count)]


def overlaps(points: np.ndarray, widths: list[float]) -> int:
    """Pairs of labels that cover each other."""
    return sum(
        abs(points[a, 0] - points[b, 0]) < (widths[a] + widths[b]) / 2
        and abs(points[a, 1] - points[b, 1]) < 13
        for a in range(len(points))
        for b in range(a)
    )


def test_nodes_are_within_the_box_and_labels_hardly_overlap() -> None:
    for count in (0, 1, 2, 3, 12, 40, 70):
        widths = [40.0 + 7 * (node % 10) for node in range(count)]
        for edges in (tree(count), [], [(0, node) for node in range(1, count)]):
            points = place_nodes(count, edges, label_widths=widths, **BOX)  # type: ignore[arg-type]
            assert points.shape == (count, 2)
            assert np.isfinite(points).all()
            assert (points >= (63, 33)).all()
            assert (points <= (697, 467)).all()
            assert overlaps(points, widths) <= count / 10
            again = place_nodes(count, edges, label_widths=widths, **BOX)  # type: ignore[arg-type]
            assert np.array_equal(points, again)


def test_related_nodes_are_nearer_than_others() -> None:
    edges = [(node, node + 1) for node in range(9)]
    points = place_nodes(10, edges, label_widths=[20.0] * 10, **BOX)  # type: ignore[arg-type]
    apart = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    assert max(apart[a, b] for a, b in edges) < apart[0, 9] / 3


def graph_of(count: int, edges: list[tuple[int, int]], name: str = "Name") -> EntityGraph:
    ids = [UUID(int=number) for number in range(count)]
    nodes = [EntityNode(each, f"category {each.int % 9}", f"{name} {each.int}", 0.5, 1) for each in ids]
    relations = [
        EntityRelation(ids[a], ids[b], "knows", 1.0, "witnessed", None, "test", WHEN, WHEN) for a, b in edges
    ]
    return EntityGraph(tuple(nodes), tuple(relations), is_complete=True)


def test_a_drawn_graph_names_its_relations_while_there_is_room() -> None:
    few = draw_graph(graph_of(5, tree(5)), UUID(int=0))
    assert few.names_relations
    assert [node.is_centre for node in few.nodes] == [True, False, False, False, False]
    many = draw_graph(graph_of(60, [(a, b) for a in range(60) for b in range(a)][: RELATIONS_MAX + 50]))
    assert (len(many.relations), many.relation_count) == (RELATIONS_MAX, RELATIONS_MAX + 50)
    assert len(many.relations) > NAMED_RELATIONS_MAX
    assert not many.names_relations
    assert set(many.categories.values()) <= set(range(1, 7))
    for drawing in (few, many):
        for line in drawing.relations:
            assert 0 <= min(line.x1, line.x2) <= max(line.x1, line.x2) <= WIDTH
            assert 0 <= min(line.y1, line.y2) <= max(line.y1, line.y2) <= HEIGHT


def test_long_names_are_shortened_in_labels_only() -> None:
    (node,) = draw_graph(graph_of(1, [], name="N" * 200)).nodes
    assert (len(node.label), node.label[-1], len(node.name)) == (22, "…", 202)
    assert draw_graph(graph_of(0, [])).nodes == []


def test_a_drawn_map_has_links_dots_and_names_within_the_picture() -> None:
    points = tuple(
        MapPoint(
            UUID(int=number), (number % 21) / 10 - 1, 1 - (number % 11) / 5, number % 2, "factual", "text"
        )
        for number in range(LINKED_MAX + 50)
    )
    regions = tuple(MapRegion(number, -1.0, 1.0, ("some", "words"), 75) for number in range(2))
    found = MemoryMap(
        points, regions, len(points), {"factual": len(points)}, WHEN, is_current=True, job_state=None
    )
    whole = draw_map(found, None)
    assert (len(whole.linked), len(whole.regions)) == (LINKED_MAX, 2)
    assert sum(path.count("h0") for path in whole.dots.values()) == 50
    spots = [(each.x, each.y) for each in whole.linked] + [(each.x, each.y) for each in whole.regions]
    for x, y in spots:
        assert 0 <= x <= MAP_WIDTH
        assert 0 <= y <= MAP_HEIGHT
    for name in whole.regions:
        assert len(name.text) * 3 <= name.x <= MAP_WIDTH - len(name.text) * 3
    assert draw_map(found, 0).regions == []
    nothing = MemoryMap((), (), 0, {}, None, is_current=False, job_state=None)
    assert (draw_map(nothing, None).linked, draw_map(nothing, 3).linked) == ([], [])
