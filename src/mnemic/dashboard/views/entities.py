"""The page Entities: who and what is known, and how they are related, now or at an earlier moment."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from mnemic.dashboard.graph_drawing import draw_graph
from mnemic.dashboard.pages import Answer, Page, Shown, View
from mnemic.dashboard.visit import Visit
from mnemic.types.checks import check_id
from mnemic.types.entity import ENTITY_ORDERS, Entity, EntityFact, EntityGraph, EntityOrder

LISTED_MAX = 20
TOP_NODES = 40
AROUND_NODES = 70
STEPS = (1, 2, 3)
MENTIONS_MAX = 8
HISTORY_MAX = 30
CHIPS_MAX = 20
"""Related entities that are listed for each kind of relation; the graph and the table show the others."""
CATEGORIES_MAX = 12
"""Categories that can be chosen, the most frequent ones."""
ORDERS: Mapping[str, str] = {
    "salience": "most salient",
    "mentions": "most mentioned",
    "name": "by name",
    "newest": "newest",
}


async def show(visit: Visit) -> Answer:
    """List entities by the beginning of a name, category and order, beside a graph of the most salient."""
    prefix, category = visit.query.text("q"), visit.query.name("category")
    order = cast(EntityOrder, visit.query.choice("order", ENTITY_ORDERS, default="salience"))
    as_of = visit.query.time("as_of")
    entities = visit.memory.entities
    is_part = visit.fragment == "#found"
    found, totals, graph = await asyncio.gather(
        entities.list(
            prefix=prefix,
            category=category,
            order=order,
            with_counts=True,
            before=visit.query.id("before"),
            limit=LISTED_MAX + 1,
        ),
        entities.count(prefix=prefix),
        _nothing() if is_part else entities.top_graph(category=category, limit=TOP_NODES, as_of=as_of),
    )
    context = {
        "listed": found[:LISTED_MAX],
        "more": found[LISTED_MAX - 1].entity_id if len(found) > LISTED_MAX else None,
        "totals": totals,
        "match_count": totals.entity_count if category is None else totals.categories.get(category, 0),
        "categories": list(totals.categories)[:CATEGORIES_MAX],
        "drawing": None if is_part else draw_graph(graph),
        "is_complete": graph.is_complete,
        "orders": ORDERS,
        "chosen": {"q": prefix or "", "category": category or "", "order": order},
        "as_of": as_of,
    }
    return Shown("entities.html", context, fragments={"#found": "fragments/_entity_list.html"})


async def show_one(visit: Visit) -> Answer:
    """Show an entity in the middle of its relations, with facts, names, mentions and earlier facts."""
    entity_id = check_id("entity", visit.path["entity_id"])
    steps = visit.query.whole_number("steps", default=2, low=STEPS[0], high=STEPS[-1])
    as_of = visit.query.time("as_of")
    entities = visit.memory.entities
    mentions = await entities.mentioning(
        entity_id, as_of=as_of, before=visit.query.id("before"), limit=MENTIONS_MAX + 1
    )
    context: dict[str, Any] = {
        "mentions": mentions[:MENTIONS_MAX],
        "older": mentions[MENTIONS_MAX - 1].memory_id if len(mentions) > MENTIONS_MAX else None,
        "entity_id": entity_id,
        "as_of": as_of,
    }
    if visit.fragment != "#mentions":
        entity, graph, history = await asyncio.gather(
            entities.get(entity_id, as_of=as_of),
            entities.graph(entity_id, depth=steps, limit=AROUND_NODES, as_of=as_of),
            entities.history(entity_id, limit=HISTORY_MAX),
        )
        context |= _one(entity, graph, history) | {"steps": steps, "all_steps": STEPS}
    return Shown("entity.html", context, fragments={"#mentions": "fragments/_mentions.html"})


def _one(entity: Entity, graph: EntityGraph, history: Sequence[EntityFact]) -> dict[str, Any]:
    """What the template of one entity shows."""
    return {
        "entity": entity,
        "drawing": draw_graph(graph, entity.entity_id),
        "is_complete": graph.is_complete,
        "facts": [(attribute, _text(value)) for attribute, value in sorted(entity.facts.items())],
        "relations": _relations_of(entity, graph),
        "chips_max": CHIPS_MAX,
        "history": [(fact, _text(fact.value)) for fact in history],
    }


def _relations_of(entity: Entity, graph: EntityGraph) -> dict[str, list[Any]]:
    """The entities that are related to this one, by the kind of the relation and its direction."""
    nodes = {node.entity_id: node for node in graph.nodes}
    found: dict[str, list[Any]] = {}
    for relation in graph.relations:
        if relation.from_id == entity.entity_id:
            found.setdefault(relation.kind, []).append(nodes[relation.to_id])
        elif relation.to_id == entity.entity_id:
            found.setdefault(f"← {relation.kind}", []).append(nodes[relation.from_id])
    return dict(sorted(found.items()))


def _text(value: Any) -> str:
    """A value of a fact, as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


async def _nothing() -> EntityGraph:
    """Instead of a graph that the answer does not show."""
    return EntityGraph((), (), is_complete=True)


PAGE = Page(
    name="entities",
    title="Entities",
    group="Memory",
    icon="graph",
    key="e",
    needs_owner=True,
    views=(
        View("GET", "/entities", show, call="entities.list"),
        View("GET", "/entities/{entity_id}", show_one, call="entities.get"),
    ),
)
