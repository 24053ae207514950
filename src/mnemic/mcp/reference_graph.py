"""The knowledge graph of the reference memory server, kept in Mnemic's entities.

There an entity has a name, a type and a list of observations. Here the type is the category, and each
observation is a fact of its own and a memory (`mnemic.sdk.observations`): two writers who add some at once
both have theirs kept, and recall finds them. A fact that is taken back has the value None, and its memory is
forgotten. Facts that others stated are observations, too: ``city: Berlin``. Relations are relations.

Differences that remain: upper and lower case make no difference in names, and both ends of a relation must
exist.
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
"""How many entities a search looks at, the newest first."""

GRAPH_DEPTH = 6
GRAPH_ENTITIES_MAX = 1_000


@dataclass(frozen=True, order=True)
class Edge:
    """A relation by the names of its ends."""

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
    """The type as it was given."""
    return str(entity.metadata.get(TYPE_KEY, entity.category))


def observations(entity: Entity) -> list[str]:
    """What is observed about an entity, the oldest first; facts of another kind follow by name."""
    return list(dict.fromkeys(_observed(entity).values()))


def stated_observations(entity: Entity) -> list[str]:
    """Only what was told as an observation, the oldest first."""
    return [text for name, text in _observed(entity).items() if name.startswith(OBSERVATION)]


def _observed(entity: Entity) -> dict[str, str]:
    """The text of each fact that holds, by attribute."""
    held = {name: entity.facts[name] for name in sorted(entity.facts) if entity.facts[name] is not None}
    own = {name: str(value) for name, value in held.items() if name.startswith(OBSERVATION)}
    return own | {name: f"{name}: {value}" for name, value in held.items() if name not in own}


async def find_named(memory: AsyncMemory, name: str) -> Entity | None:
    """The entity of this name, or the only one with this alias."""
    found = await memory.entities.find(name, limit=2)
    if not found:
        return None
    is_own = found[0].name.casefold() == name.strip().casefold()
    return found[0] if is_own or len(found) == 1 else None


async def require_named(memory: AsyncMemory, name: str) -> Entity:
    """The same; an error in the reference server's words if there is none."""
    entity = await find_named(memory, name)
    if entity is None:
        raise NotFoundError(f"Entity with name {name} not found. Create it first with create_entities.")
    return entity


async def create(memory: AsyncMemory, name: str, type_name: str, texts: Sequence[str]) -> bool:
    """Make an entity unless there is one of that name; returns whether it was made."""
    if await find_named(memory, name) is not None:
        return False
    facts = await _retained(memory, name, list(dict.fromkeys(texts)), {})
    await memory.entities.upsert(type_name, name, facts=facts, metadata={TYPE_KEY: type_name})
    return True


async def observe(memory: AsyncMemory, entity: Entity, texts: Sequence[str]) -> list[str]:
    """Add observations that are not there yet; returns those."""
    known = set(observations(entity))
    new = [text for text in dict.fromkeys(texts) if text not in known]
    if new:
        facts = await _retained(memory, entity.name, new, entity.facts)
        await memory.entities.upsert(entity.category, entity.name, facts=facts)
    return new


async def _retained(
    memory: AsyncMemory, name: str, texts: Sequence[str], held: Mapping[str, Any]
) -> dict[str, str]:
    """The facts of these observations, which are memories now."""
    items = [observation_item(name, text) for text in texts]
    retained = await memory.retain_many(items) if items else None
    return observation_facts(name, texts, items, retained, held)


async def retract(memory: AsyncMemory, entity: Entity, texts: Sequence[str]) -> None:
    """Retire the facts with these texts, and forget their memories; their history stays."""
    retired = {name: None for name, text in _observed(entity).items() if text in set(texts)}
    if retired:
        await forget_observations(memory, retired)
        await memory.entities.upsert(entity.category, entity.name, facts=retired)


async def remove(memory: AsyncMemory, entity: Entity) -> None:
    """Move an entity into the archive, and forget what was told as its observations."""
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
    """All entities and relations, up to the limit, the newest entities first."""
    entities = [entity async for entity in newest(memory, GRAPH_ENTITIES_MAX + 1)]
    shown = entities[:GRAPH_ENTITIES_MAX]
    return Graph(shown, sorted(await _all_edges(memory, shown)), len(shown) == len(entities))


async def _all_edges(memory: AsyncMemory, entities: Sequence[Entity]) -> set[Edge]:
    """Walk on from every entity that no walk has passed yet: one call for each group that hangs together."""
    passed: set[UUID] = set()
    edges: set[Edge] = set()
    for entity in entities:
        if entity.entity_id in passed:
            continue
        graph = await memory.entities.graph(entity, depth=GRAPH_DEPTH, limit=GRAPH_ENTITIES_MAX)
        names = {node.entity_id: node.name for node in graph.nodes}
        edges |= {Edge(names[one.from_id], names[one.to_id], one.kind) for one in graph.relations}
        # Of those at the rim, relations may lead further; a walk that was cut passed nobody but its start.
        far = {node.entity_id for node in graph.nodes if not graph.is_complete or node.depth == GRAPH_DEPTH}
        passed |= {entity.entity_id, *(names.keys() - far)}
    return edges


async def matching(memory: AsyncMemory, query: str, limit: int) -> list[Entity]:
    """Entities in whose name, aliases, type or observations every word of the query occurs."""
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
    """Entities, the newest first, page by page."""
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
