"""The tools of the reference memory server: its names, its shapes, its behaviour, on Mnemic's entities."""

import asyncio
import json
from itertools import pairwise

import pytest

from mnemic.mcp.size_limits import RESULT_MAX_CHARACTERS, json_size
from mnemic.mcp.tools import OWN_TOOLS
from mnemic.sdk.memory import AsyncMemory
from tests.mcp.conftest import Connect, called, refused, text_of

NAMES = [
    "create_entities",
    "create_relations",
    "add_observations",
    "delete_entities",
    "delete_observations",
    "delete_relations",
    "read_graph",
    "search_nodes",
    "open_nodes",
]
ALICE = {"name": "Alice", "entityType": "Person", "observations": ["Lives in Berlin", "Likes tea"]}
ACME = {"name": "Acme", "entityType": "Company", "observations": []}
WORKS = {"from": "Alice", "to": "Acme", "relationType": "works_at"}


async def test_its_tools_are_listed_beside_our_own(connect: Connect) -> None:
    async with connect("reference") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools)[len(OWN_TOOLS) :] == NAMES
    relation = tools["create_relations"].input_schema["$defs"]["RelationEdge"]
    assert set(relation["properties"]) == {"from", "to", "relationType"}
    assert set(relation["required"]) == {"from", "to", "relationType"}
    assert {name: tools[name].annotations.destructive_hint for name in NAMES} == {  # type: ignore[union-attr]
        name: name.startswith("delete") for name in NAMES
    }
    reading = [name for name in NAMES if tools[name].annotations.read_only_hint]  # type: ignore[union-attr]
    assert reading == ["read_graph", "search_nodes", "open_nodes"]


async def test_created_entities_are_read_back(connect: Connect) -> None:
    async with connect("reference") as client:
        created = await client.call_tool("create_entities", {"entities": [ALICE, ACME]})
        related = await client.call_tool("create_relations", {"relations": [WORKS]})
        graph = await client.call_tool("read_graph", {})
    assert created.structured_content == {"entities": [ALICE, ACME]}
    assert json.loads(text_of(created)) == [ALICE, ACME]
    assert text_of(created) == json.dumps([ALICE, ACME], indent=2)
    assert related.structured_content == {"relations": [WORKS]}
    assert json.loads(text_of(related)) == [WORKS]
    assert graph.structured_content == {"entities": [ACME, ALICE], "relations": [WORKS]}
    assert json.loads(text_of(graph)) == graph.structured_content
    assert len(graph.content) == 1


async def test_they_are_mnemics_own_entities(connect: Connect, memory: AsyncMemory) -> None:
    await memory.entities.upsert("person", "Bob", facts={"city": "Bern"})
    async with connect("reference") as client:
        await called(client, "create_entities", entities=[ALICE, ACME])
        await called(client, "create_relations", relations=[WORKS])
        opened = await called(client, "open_nodes", names=["Bob"])
        (card,) = (await called(client, "get_entity", name="Alice"))["entities"]
    assert (card["facts"], card["observations"]) == ({}, ALICE["observations"])
    alice = await memory.entities.get("person", "Alice")
    assert set(alice.facts.values()) == {"Lives in Berlin", "Likes tea"}
    assert [one.kind for one in (await memory.entities.graph(alice)).relations] == ["works_at"]
    assert opened["entities"] == [{"name": "Bob", "entityType": "person", "observations": ["city: Bern"]}]


async def test_an_existing_entity_is_not_created_again(connect: Connect) -> None:
    async with connect("reference") as client:
        await called(client, "create_entities", entities=[ALICE, ACME])
        await called(client, "create_relations", relations=[WORKS])
        again = await called(client, "create_entities", entities=[ALICE | {"entityType": "Robot"}])
        related = await called(
            client, "create_relations", relations=[WORKS, WORKS | {"relationType": "owns"}]
        )
        graph = await called(client, "read_graph")
    assert again == {"entities": []}
    assert related == {"relations": [WORKS | {"relationType": "owns"}]}
    assert len(graph["entities"]) == len(graph["relations"]) == 2


async def test_observations_are_added_once_and_keep_their_order(connect: Connect) -> None:
    async with connect("reference") as client:
        await called(client, "create_entities", entities=[ALICE])
        added = await client.call_tool(
            "add_observations",
            {"observations": [{"entityName": "Alice", "contents": ["Likes tea", "Zz", "Aa", "Zz"]}]},
        )
        opened = await called(client, "open_nodes", names=["Alice"])
    result = [{"entityName": "Alice", "addedObservations": ["Zz", "Aa"]}]
    assert added.structured_content == {"results": result}
    assert json.loads(text_of(added)) == result
    assert opened["entities"][0]["observations"] == ["Lives in Berlin", "Likes tea", "Zz", "Aa"]


async def test_observations_of_two_writers_are_both_kept(connect: Connect) -> None:
    async with connect("reference") as client:
        await called(client, "create_entities", entities=[ALICE])
        new = [f"fact {number}" for number in range(20)]
        await asyncio.gather(
            *(
                called(client, "add_observations", observations=[{"entityName": "Alice", "contents": [text]}])
                for text in new
            )
        )
        opened = await called(client, "open_nodes", names=["Alice"])
    assert set(new) < set(opened["entities"][0]["observations"])


async def test_observations_are_deleted_by_their_text(connect: Connect, memory: AsyncMemory) -> None:
    await memory.entities.upsert("person", "Alice", facts={"city": "Bern"})
    observations = [{"entityName": "Alice", "contents": ["Likes tea", "Likes rain"]}]
    deletions = [
        {"entityName": "Alice", "observations": ["Likes tea", "city: Bern", "never said"]},
        {"entityName": "Nobody", "observations": ["x"]},
    ]
    async with connect("reference") as client:
        await called(client, "add_observations", observations=observations)
        done = await client.call_tool("delete_observations", {"deletions": deletions})
        opened = await called(client, "open_nodes", names=["Alice"])
        await called(client, "add_observations", observations=observations)
        again = await called(client, "open_nodes", names=["Alice"])
    assert done.structured_content == {"success": True, "message": "Observations deleted successfully"}
    assert text_of(done) == "Observations deleted successfully"
    assert opened["entities"][0]["observations"] == ["Likes rain"]
    assert again["entities"][0]["observations"] == ["Likes rain", "Likes tea"]


async def test_observations_are_recalled_until_they_are_deleted(
    connect: Connect, memory: AsyncMemory
) -> None:
    async def contents() -> set[str]:
        return {record.content for record in await memory.memories.list()}

    async with connect("reference") as client:
        await called(client, "create_entities", entities=[ALICE])
        added = [{"entityName": "Alice", "contents": ["Plays the cello", "Alice: Plays the cello"]}]
        await called(client, "add_observations", observations=added)
        found = await memory.recall("Which instrument does Alice play? The cello?")
        known = await contents()
        opened = await called(client, "open_nodes", names=["Alice"])
        deletions = [{"entityName": "Alice", "observations": ["Likes tea"]}]
        await called(client, "delete_observations", deletions=deletions)
        left = await contents()
        await called(client, "delete_entities", entityNames=["Alice"])
    assert found[0].memory.content == "Alice: Plays the cello"
    assert known == {"Alice: Lives in Berlin", "Alice: Likes tea", "Alice: Plays the cello"}
    # Two observations that share a memory stay two observations.
    assert opened["entities"][0]["observations"][2:] == ["Plays the cello", "Alice: Plays the cello"]
    assert left == known - {"Alice: Likes tea"}
    assert await contents() == set()


async def test_an_observation_without_a_memory_can_be_deleted(connect: Connect, memory: AsyncMemory) -> None:
    facts = {"observation 0190163d-8694-739b-aea5-966c26f8ad91": "Told long ago"}
    await memory.entities.upsert("person", "Alice", facts=facts)
    async with connect("reference") as client:
        deletions = [{"entityName": "Alice", "observations": ["Told long ago"]}]
        await called(client, "delete_observations", deletions=deletions)
        opened = await called(client, "open_nodes", names=["Alice"])
    assert opened["entities"][0]["observations"] == []


async def test_entities_are_deleted_with_their_relations(connect: Connect, memory: AsyncMemory) -> None:
    async with connect("reference") as client:
        await called(client, "create_entities", entities=[ALICE, ACME])
        await called(client, "create_relations", relations=[WORKS])
        done = await client.call_tool("delete_entities", {"entityNames": ["Acme", "Nobody"]})
        graph = await called(client, "read_graph")
    assert done.structured_content == {"success": True, "message": "Entities deleted successfully"}
    assert text_of(done) == "Entities deleted successfully"
    assert graph == {"entities": [ALICE], "relations": []}
    assert [entity.name for entity in await memory.entities.archived()] == ["Acme"]


async def test_relations_are_deleted(connect: Connect) -> None:
    async with connect("reference") as client:
        await called(client, "create_entities", entities=[ALICE, ACME])
        await called(client, "create_relations", relations=[WORKS])
        unknown = WORKS | {"to": "Nobody"}
        done = await client.call_tool("delete_relations", {"relations": [WORKS, unknown]})
        graph = await called(client, "read_graph")
    assert done.structured_content == {"success": True, "message": "Relations deleted successfully"}
    assert text_of(done) == "Relations deleted successfully"
    assert graph["relations"] == []


@pytest.mark.parametrize("query", ["berlin", "ALICE", "perso", "tea lives"])
async def test_search_finds_name_type_and_observations(connect: Connect, query: str) -> None:
    async with connect("reference") as client:
        await called(client, "create_entities", entities=[ALICE, ACME])
        await called(client, "create_relations", relations=[WORKS])
        found = await called(client, "search_nodes", query=query)
        nothing = await called(client, "search_nodes", query=f"{query} nowhere")
    assert found == {"entities": [ALICE], "relations": [WORKS]}
    assert nothing == {"entities": [], "relations": []}


async def test_opened_nodes_include_relations_to_others(connect: Connect) -> None:
    async with connect("reference") as client:
        await called(client, "create_entities", entities=[ALICE, ACME])
        await called(client, "create_relations", relations=[WORKS])
        opened = await called(client, "open_nodes", names=["acme", "Acme", "Nobody"])
    assert opened == {"entities": [ACME], "relations": [WORKS]}


async def test_long_chains_and_lone_entities_are_all_read(connect: Connect, memory: AsyncMemory) -> None:
    names = [f"node {number:02}" for number in range(20)]
    for name in [*names, "alone"]:
        await memory.entities.upsert("thing", name)
    for start, end in pairwise(names):
        await memory.entities.relate(("thing", start), ("thing", end), "leads to")
    async with connect("reference") as client:
        graph = await called(client, "read_graph")
    assert len(graph["entities"]) == 21
    assert [(one["from"], one["to"]) for one in graph["relations"]] == list(pairwise(names))


async def test_a_relation_needs_both_ends_and_a_call_is_atomic(connect: Connect) -> None:
    async with connect("reference") as client:
        await called(client, "create_entities", entities=[ALICE, ACME])
        related = await refused(client, "create_relations", relations=[WORKS, WORKS | {"to": "Nobody"}])
        observed = await refused(
            client,
            "add_observations",
            observations=[
                {"entityName": "Alice", "contents": ["new"]},
                {"entityName": "Nobody", "contents": ["new"]},
            ],
        )
        graph = await called(client, "read_graph")
    assert related.startswith("Entity with name Nobody not found. Create it first with create_entities.")
    assert observed.startswith("Entity with name Nobody not found.")
    assert graph == {"entities": [ACME, ALICE], "relations": []}


@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("create_entities", {"entities": [{"name": "Alice"}]}, "entities.0.entityType: Field required"),
        ("create_relations", {"relations": [{"from": "Alice"}]}, "relations.0.to: Field required"),
        ("read_graph", {"depth": 3}, "depth: Extra inputs are not permitted"),
        ("open_nodes", {"names": ["x"] * 101}, "names: List should have at most 100 items"),
        (
            "create_entities",
            {"entities": [ALICE | {"observations": ["x" * 8000] * 10}]},
            "more than 36,000 characters in one call; split it",
        ),
    ],
)
async def test_bad_arguments_are_named(
    connect: Connect, tool: str, arguments: dict[str, object], complaint: str
) -> None:
    async with connect("reference") as client:
        assert complaint in await refused(client, tool, **arguments)


async def test_a_large_graph_is_truncated_with_a_note(connect: Connect, memory: AsyncMemory) -> None:
    for number in range(30):
        await memory.entities.upsert("thing", f"thing {number}", facts={"observation": '"' * 2000})
        await memory.entities.upsert("thing", f"other {number}")
        await memory.entities.relate(("thing", f"thing {number}"), ("thing", f"other {number}"), "k" * 250)
    async with connect("reference") as client:
        read = await client.call_tool("read_graph", {})
        searched = await client.call_tool("search_nodes", {"query": "thing"})
    for result in (read, searched):
        assert 1 <= len(result.structured_content["entities"]) < 30
        assert 10_000 <= json_size(result.structured_content) <= RESULT_MAX_CHARACTERS
        assert json.loads(text_of(result)) == result.structured_content
        assert len(text_of(result)) <= RESULT_MAX_CHARACTERS
        assert "does not fit" in result.content[1].text  # type: ignore[union-attr]
