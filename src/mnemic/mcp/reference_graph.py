"""The knowledge graph of the reference memory server, stored in Mnemic's entities.

The reference server has entities with a name, a type and a list of observations. Here the type is the
category, and each observation is a fact and a memory (`mnemic.sdk.observations`): if two writers add
observations at once, both are kept, and recall finds them. A retracted fact has the value None, and its
memory is forgotten. Facts from other sources are shown as observations, too: ``city: Berlin``. Relations are
relations.

Two differences remain: names are case-insensitive, and both ends of a relation must exist.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from mnemic.errors import NotFoundError
from mnemic.sdk.memory import AsyncMemory
from mnemic.sdk.observations import (
    OBSERVATION,
    TYPE_KEY,
    forget_observations,
    observation_facts,
    observation_item,
)
from mnemic.types.entity import Entity

PAGE_ENTITIES = 500
SCANNED_ENTITIES_MAX = 5_000
"""How many entities a search scans, newest first."""

GRAPH_DEPTH = 6
GRAPH_ENTITIES_MAX = 1_000


@dataclass(frozen=True, order=True)
class Edge:
    """A relation, with the names of its ends."""

    from_name: str
    to_name: str
    kind: str


@dataclass(frozen=True)
class Graph:
    """Entities, the relations that touch them, and whether any were left out."""

    entities: Sequence[Entity]
    edges: Sequence[Edge] = field(default=())
    is_complete: bool = True


def entity_type(entity: Entity) -> str:
    """The type as the client gave it."""
    return str(entity.metadata.get(TYPE_KEY, entity.category))


def observations(entity: Entity) -> list[str]:
    """The observations of an entity, oldest first, then its other facts by name."""
    return list(dict.fromkeys(_observed(entity).values()))


def stated_observations(entity: Entity) -> list[str]:
    """Only the facts that were stored as observations, oldest first."""
    return [text for name, text in _observed(entity).items() if name.startswith(OBSERVATION)]


def _observed(entity: Entity) -> dict[str, str]:
    """The text of each current fact, by attribute."""
    held = {name: entity.facts[name] for name in sorted(entity.facts) if entity.facts[name] is not None}
    own = {name: str(value) for name, value in held.items() if name.startswith(OBSERVATION)}
    return own | {name: f"{name}: {value}" for name, value in held.items() if name not in own}


async def find_named(memory: AsyncMemory, name: str) -> Entity | None:
    """The entity with this name, or the only one with this alias."""
    found = await memory.entities.find(name, limit=2)
    if not found:
        return None
    is_own = found[0].name.casefold() == name.strip().casefold()
    return found[0] if is_own or len(found) == 1 else None


async def require_named(memory: AsyncMemory, name: str) -> Entity:
    """The same; if there is none, an error with the reference server's text."""
    entity = await find_named(memory, name)
    if entity is None:
        raise NotFoundError(f"Entity with name {name} not found. Create it first with create_entities.")
    return entity


async def create(memory: AsyncMemory, name: str, type_name: str, texts: Sequence[str]) -> bool:
    """Create an entity unless one with that name exists; returns whether it was created."""
    if await find_named(memory, name) is not None:
        return False
    facts = await _retained(memory, name, list(dict.fromkeys(texts)), {})
    await memory.entities.upsert(type_name, name, facts=facts, metadata={TYPE_KEY: type_name})
    return True


async def observe(memory: AsyncMemory, entity: Entity, texts: Sequence[str]) -> list[str]:
    """Add the observations that are new; returns them."""
    known = set(observations(entity))
    new = [text for text in dict.fromkeys(texts) if text not in known]
    if new:
        facts = await _retained(memory, entity.name, new, entity.facts)
        await memory.entities.upsert(entity.category, entity.name, facts=facts)
    return new


async def _retained(
    memory: AsyncMemory, name: str, texts: Sequence[str], held: Mapping[str, Any]
) -> dict[str, str]:
    """Retain these observations as memories; returns their facts."""
    items = [observation_item(name, text) for text in texts]
    retained = await memory.retain_many(items) if items else None
    return observation_facts(name, texts, items, retained, held)


async def retract(memory: AsyncMemory, entity: Entity, texts: Sequence[str]) -> None:
    """Set the facts with these texts to None and forget their memories; the history stays."""
    retired = {name: None for name, text in _observed(entity).items() if text in set(texts)}
    if retired:
        await forget_observations(memory, retired)
        await memory.entities.upsert(entity.category, entity.name, facts=retired)


async def remove(memory: AsyncMemory, entity: Entity) -> None:
    """Archive an entity, and forget the memories of its observations."""
    await forget_observations(memory, _observed(entity))
    await memory.entities.delete(entity)


async def edges_of(memory: AsyncMemory, entity: Entity) -> set[Edge]:
    """The relations from and to an entity."""
    graph = await memory.entities.graph(entity, depth=1, limit=GRAPH_ENTITIES_MAX)
    names = {node.entity_id: node.name for node in graph.nodes}
    return {
        Edge(names[one.from_id], names[one.to_id], one.kind)
        for one in graph.relations
        if entity.entity_id in (one.from_id, one.to_id)
    }


async def touching(memory: AsyncMemory, entities: Sequence[Entity]) -> Graph:
    """These entities with every relation that touches one of them."""
    edges: set[Edge] = set()
    for entity in entities:
        edges |= await edges_of(memory, entity)
    return Graph(entities, sorted(edges))


async def everything(memory: AsyncMemory) -> Graph:
    """All entities and relations, up to the limit, newest entities first."""
    entities = [entity async for entity in newest(memory, GRAPH_ENTITIES_MAX + 1)]
    shown = entities[:GRAPH_ENTITIES_MAX]
    return Graph(shown, sorted(await _all_edges(memory, shown)), len(shown) == len(entities))


async def _all_edges(memory: AsyncMemory, entities: Sequence[Entity]) -> set[Edge]:
    """Start a traversal at every entity that is not visited yet: one call per connected component."""
    visited: set[UUID] = set()
    edges: set[Edge] = set()
    for entity in entities:
        if entity.entity_id in visited:
            continue
        graph = await memory.entities.graph(entity, depth=GRAPH_DEPTH, limit=GRAPH_ENTITIES_MAX)
        names = {node.entity_id: node.name for node in graph.nodes}
        edges |= {Edge(names[one.from_id], names[one.to_id], one.kind) for one in graph.relations}
        # Nodes at the maximum depth may have further relations; a truncated traversal visited only its start.
        far = {node.entity_id for node in graph.nodes if not graph.is_complete or node.depth == GRAPH_DEPTH}
        visited |= {entity.entity_id, *(names.keys() - far)}
    return edges


async def matching(memory: AsyncMemory, query: str, limit: int) -> list[Entity]:
    """Entities whose name, aliases, type or observations contain every word of the query."""
    words = query.casefold().split()
    found = []
    async for entity in newest(memory, SCANNED_ENTITIES_MAX):
        texts = [entity.name, *entity.aliases, entity_type(entity), *observations(entity)]
        haystack = "\n".join(texts).casefold()
        if all(word in haystack for word in words):
            found.append(entity)
            if len(found) == limit:
                break
    return found


async def newest(memory: AsyncMemory, most: int) -> AsyncIterator[Entity]:
    """Entities, newest first, page by page."""
    before: UUID | None = None
    left = most
    while left > 0:
        page = await memory.entities.list(before=before, limit=min(left, PAGE_ENTITIES))
        for entity in page:
            yield entity
        if len(page) < min(left, PAGE_ENTITIES):
            return
        left -= len(page)
        before = page[-1].entity_id
