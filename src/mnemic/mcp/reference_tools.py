"""The tools of the reference memory server (modelcontextprotocol/servers, src/memory), with the same names.

Prompts that were written for that server work unchanged: the tools have the same arguments and results, on
Mnemic's entities (`reference_graph`). Field names are those of that server.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field

from mnemic.mcp import reference_graph as graph
from mnemic.mcp.size_limits import fitting
from mnemic.mcp.tool import Arguments, MemoryTool, ToolResult
from mnemic.mcp.tool_results import ResultPart
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.entity import CATEGORY_MAX_CHARACTERS, Entity
from mnemic.types.scope import NAME_MAX_CHARACTERS

ITEMS_MAX = 100
"""Entities, relations or names in one call."""

CALL_MAX_CHARACTERS = 36_000
"""Limit for the items of one call, as indented JSON."""

OBSERVATIONS_MAX = 200
OBSERVATION_MAX_CHARACTERS = 8_192
QUERY_MAX_CHARACTERS = 4_000
NODES_SHOWN = 100
"""Entities that a search shows."""

ENTITIES_MAX_CHARACTERS = 24_000
RELATIONS_MAX_CHARACTERS = 12_000
"""Limits for the two parts of a graph, as indented JSON."""

Name = Annotated[str, Field(min_length=1, max_length=NAME_MAX_CHARACTERS)]
Observation = Annotated[str, Field(min_length=1, max_length=OBSERVATION_MAX_CHARACTERS)]
Observations = Annotated[list[Observation], Field(max_length=OBSERVATIONS_MAX)]
ResultPartT = TypeVar("ResultPartT", bound=ResultPart)
Run = Callable[[AsyncMemory, Any], Awaitable[ToolResult]]


class EntityNode(ResultPart):
    """An entity as the reference server writes it."""

    name: Name = Field(description="The name of the entity")
    entityType: Annotated[str, Field(min_length=1, max_length=CATEGORY_MAX_CHARACTERS)] = Field(
        description="The type of the entity"
    )
    observations: Observations = Field(
        description="An array of observation contents associated with the entity"
    )


class RelationEdge(ResultPart):
    """A relation as the reference server writes it."""

    from_: Name = Field(alias="from", description="The name of the entity where the relation starts")
    to: Name = Field(description="The name of the entity where the relation ends")
    relationType: Name = Field(description="The type of the relation")


def _bounded(parts: list[ResultPartT]) -> list[ResultPartT]:
    """The result repeats the items, so they must fit into one result."""
    if sum(map(_indented_size, parts)) > CALL_MAX_CHARACTERS:
        raise ValueError(f"more than {CALL_MAX_CHARACTERS:,} characters in one call; split it")
    return parts


class EntitiesArguments(Arguments):
    """Arguments of `create_entities`."""

    entities: Annotated[list[EntityNode], AfterValidator(_bounded)] = Field(max_length=ITEMS_MAX)


class EntitiesResult(ToolResult):
    """The entities that were new."""

    entities: list[EntityNode]

    def texts(self) -> list[str]:
        """The list alone, as the reference server does."""
        return [_as_json(self.structured()["entities"])]


async def create_entities(memory: AsyncMemory, given: EntitiesArguments) -> EntitiesResult:
    """Create the entities that are new."""
    return EntitiesResult(
        entities=[
            one
            for one in given.entities
            if await graph.create(memory, one.name, one.entityType, one.observations)
        ]
    )


class RelationsArguments(Arguments):
    """Arguments of `create_relations` and `delete_relations`."""

    relations: Annotated[list[RelationEdge], AfterValidator(_bounded)] = Field(max_length=ITEMS_MAX)


class RelationsResult(ToolResult):
    """The relations that were new."""

    relations: list[RelationEdge]

    def texts(self) -> list[str]:
        """The list alone, as the reference server does."""
        return [_as_json(self.structured()["relations"])]


async def create_relations(memory: AsyncMemory, given: RelationsArguments) -> RelationsResult:
    """Create the relations that are new; none, if an end does not exist."""
    ends = [
        (await graph.require_named(memory, one.from_), await graph.require_named(memory, one.to))
        for one in given.relations
    ]
    new = []
    for one, (start, end) in zip(given.relations, ends, strict=True):
        if graph.Edge(start.name, end.name, one.relationType) not in await graph.edges_of(memory, start):
            await memory.entities.relate(start, end, one.relationType)
            new.append(one)
    return RelationsResult(relations=new)


class NewObservations(ResultPart):
    """Observations to add to one entity."""

    entityName: Name = Field(description="The name of the entity to add the observations to")
    contents: Observations = Field(description="An array of observation contents to add")


class AddObservationsArguments(Arguments):
    """Arguments of `add_observations`."""

    observations: Annotated[list[NewObservations], AfterValidator(_bounded)] = Field(max_length=ITEMS_MAX)


class AddedObservations(ResultPart):
    """The observations of one entity that were new."""

    entityName: str
    addedObservations: list[str]


class AddObservationsResult(ToolResult):
    """The observations that were new."""

    results: list[AddedObservations]

    def texts(self) -> list[str]:
        """The list alone, as the reference server does."""
        return [_as_json(self.structured()["results"])]


async def add_observations(memory: AsyncMemory, given: AddObservationsArguments) -> AddObservationsResult:
    """Add to entities; to none, if one does not exist."""
    entities = [await graph.require_named(memory, one.entityName) for one in given.observations]
    return AddObservationsResult(
        results=[
            AddedObservations(
                entityName=one.entityName,
                addedObservations=await graph.observe(memory, entity, one.contents),
            )
            for one, entity in zip(given.observations, entities, strict=True)
        ]
    )


class DeletionResult(ToolResult):
    """Confirmation of a deletion."""

    success: bool
    message: str

    def texts(self) -> list[str]:
        """The message."""
        return [self.message]


class DeleteEntitiesArguments(Arguments):
    """Arguments of `delete_entities`."""

    entityNames: list[Name] = Field(max_length=ITEMS_MAX, description="An array of entity names to delete")


async def delete_entities(memory: AsyncMemory, given: DeleteEntitiesArguments) -> DeletionResult:
    """Archive entities; unknown names are ignored."""
    for name in given.entityNames:
        entity = await graph.find_named(memory, name)
        if entity is not None:
            await graph.remove(memory, entity)
    return DeletionResult(success=True, message="Entities deleted successfully")


class OldObservations(ResultPart):
    """Observations to retract from one entity."""

    entityName: Name = Field(description="The name of the entity containing the observations")
    observations: Observations = Field(description="An array of observations to delete")


class DeleteObservationsArguments(Arguments):
    """Arguments of `delete_observations`."""

    deletions: list[OldObservations] = Field(max_length=ITEMS_MAX)


async def delete_observations(memory: AsyncMemory, given: DeleteObservationsArguments) -> DeletionResult:
    """Retract observations; unknown ones are ignored."""
    for one in given.deletions:
        entity = await graph.find_named(memory, one.entityName)
        if entity is not None:
            await graph.retract(memory, entity, one.observations)
    return DeletionResult(success=True, message="Observations deleted successfully")


async def delete_relations(memory: AsyncMemory, given: RelationsArguments) -> DeletionResult:
    """Delete relations; unknown ones are ignored."""
    for one in given.relations:
        ends = [await graph.find_named(memory, name) for name in (one.from_, one.to)]
        start, end = ends
        if start is not None and end is not None:
            await memory.entities.unrelate(start, end, one.relationType)
    return DeletionResult(success=True, message="Relations deleted successfully")


class ShownEntity(ResultPart):
    """An entity in a result: its facts may be longer and more than these tools accept as arguments."""

    name: str
    entityType: str
    observations: list[str]


class GraphResult(ToolResult):
    """Entities and relations."""

    entities: list[ShownEntity]
    relations: list[RelationEdge]
    # The reference server does not return it, so it is not in the structured content.
    is_complete: bool = Field(default=True, exclude=True)

    def texts(self) -> list[str]:
        """The graph, and a note if it is truncated."""
        more = "The graph does not fit into one result: search for what you need with search_nodes."
        return [_as_json(self.structured()), *([] if self.is_complete else [more])]


class NoArguments(Arguments):
    """No arguments."""


async def read_graph(memory: AsyncMemory, given: NoArguments) -> GraphResult:
    """The whole graph, as far as it fits."""
    return graph_result(await graph.everything(memory))


class SearchNodesArguments(Arguments):
    """Arguments of `search_nodes`."""

    query: Annotated[str, Field(min_length=1, max_length=QUERY_MAX_CHARACTERS)] = Field(
        description="The search query to match against entity names, types, and observation content"
    )


async def search_nodes(memory: AsyncMemory, given: SearchNodesArguments) -> GraphResult:
    """The entities that contain every word of the query."""
    found = await graph.matching(memory, given.query, NODES_SHOWN + 1)
    near = await graph.touching(memory, found[:NODES_SHOWN])
    return graph_result(graph.Graph(near.entities, near.edges, is_complete=len(found) <= NODES_SHOWN))


class OpenNodesArguments(Arguments):
    """Arguments of `open_nodes`."""

    names: list[Name] = Field(max_length=ITEMS_MAX, description="An array of entity names to retrieve")


async def open_nodes(memory: AsyncMemory, given: OpenNodesArguments) -> GraphResult:
    """The entities with these names."""
    found = [await graph.find_named(memory, name) for name in given.names]
    known = {entity.entity_id: entity for entity in found if entity is not None}
    return graph_result(await graph.touching(memory, list(known.values())))


def graph_result(found: graph.Graph) -> GraphResult:
    """As much of a graph as fits."""
    entities = fitting(map(_shown, found.entities), _indented_size, ENTITIES_MAX_CHARACTERS)
    relations = fitting(map(_edge, found.edges), _indented_size, RELATIONS_MAX_CHARACTERS)
    fits = len(entities) == len(found.entities) and len(relations) == len(found.edges)
    return GraphResult(entities=entities, relations=relations, is_complete=found.is_complete and fits)


def _shown(entity: Entity) -> ShownEntity:
    return ShownEntity(
        name=entity.name, entityType=graph.entity_type(entity), observations=graph.observations(entity)
    )


def _edge(edge: graph.Edge) -> RelationEdge:
    return RelationEdge.model_validate(
        {"from": edge.from_name, "to": edge.to_name, "relationType": edge.kind}
    )


def _indented_size(part: ResultPart) -> int:
    """The size inside a result, where each line is indented by four more spaces."""
    text = _as_json(part.model_dump(by_alias=True))
    return len(text) + 4 * (text.count("\n") + 1)


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _tool(
    name: str, description: str, arguments: type[Arguments], answer: type[ToolResult], run: Run
) -> MemoryTool:
    """A tool of the set; its name says whether it writes and destroys."""
    reads = name.partition("_")[0] in ("read", "search", "open")
    deletes = name.startswith("delete")
    return MemoryTool(
        name=name,
        title=name.replace("_", " ").title(),
        description=description,
        arguments=arguments,
        answer=answer,
        run=run,
        writes=not reads,
        destroys=deletes,
        is_idempotent=reads or deletes,
    )


REFERENCE_TOOLS: Sequence[MemoryTool] = (
    _tool(
        "create_entities",
        "Create multiple new entities in the knowledge graph: people, projects, things, each with a name, a "
        "type and observations. Entities whose name already exists are not changed: use add_observations "
        "for those. Returns the entities that were created.",
        EntitiesArguments,
        EntitiesResult,
        create_entities,
    ),
    _tool(
        "create_relations",
        "Create multiple new relations between entities in the knowledge graph. Relations should be in "
        "active voice. Both entities must exist. Returns the relations that were new.",
        RelationsArguments,
        RelationsResult,
        create_relations,
    ),
    _tool(
        "add_observations",
        "Add new observations to existing entities in the knowledge graph, one fact each. Returns what was "
        "new for each entity; fails, and adds nothing, if an entity does not exist.",
        AddObservationsArguments,
        AddObservationsResult,
        add_observations,
    ),
    _tool(
        "delete_entities",
        "Delete multiple entities and their associated relations from the knowledge graph. Only when the "
        "user asks for it.",
        DeleteEntitiesArguments,
        DeletionResult,
        delete_entities,
    ),
    _tool(
        "delete_observations",
        "Delete specific observations from entities in the knowledge graph, by their exact text. Use it "
        "for observations that are no longer true, then add the new ones.",
        DeleteObservationsArguments,
        DeletionResult,
        delete_observations,
    ),
    _tool(
        "delete_relations",
        "Delete multiple relations from the knowledge graph.",
        RelationsArguments,
        DeletionResult,
        delete_relations,
    ),
    _tool(
        "read_graph",
        "Read the entire knowledge graph, as far as it fits into one result. If the graph is large, use "
        "search_nodes.",
        NoArguments,
        GraphResult,
        read_graph,
    ),
    _tool(
        "search_nodes",
        "Search for nodes in the knowledge graph based on a query. Finds entities whose name, type or "
        "observations contain every word of the query, and their relations; use few, specific words.",
        SearchNodesArguments,
        GraphResult,
        search_nodes,
    ),
    _tool(
        "open_nodes",
        "Open specific nodes in the knowledge graph by their names, with their relations. Unknown names are "
        "ignored.",
        OpenNodesArguments,
        GraphResult,
        open_nodes,
    ),
)
