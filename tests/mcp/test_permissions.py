"""Owners and roles: a client that is bound to an owner cannot leave it, and a reader cannot write."""

import pytest

from mnemic.errors import InvalidInputError
from mnemic.mcp.client_scope import COMPATS, check_compat
from mnemic.mcp.reference_tools import REFERENCE_TOOLS
from mnemic.mcp.tools import OWN_TOOLS
from mnemic.sdk.memory import AsyncMemory
from tests.accepted_grants import accepted_grant
from tests.fresh_tenants import OpenMemory
from tests.mcp.conftest import Connect, called, refused

SECRET = "The password hint is a blue elephant."
WRITING = [tool for tool in (*OWN_TOOLS, *REFERENCE_TOOLS) if tool.writes]
EXAMPLES: dict[str, dict[str, object]] = {
    "retain": {"content": "x"},
    "recall": {"query": "x"},
    "query_archive": {"question": "x"},
    "forget": {"memory_id": "0199f3a2-5b7c-7d10-8a42-1f0e9c3b7d55"},
    "get_entity": {"name": "x"},
    "why": {"memory_id": "0199f3a2-5b7c-7d10-8a42-1f0e9c3b7d55"},
    "give_feedback": {"memory_id": "0199f3a2-5b7c-7d10-8a42-1f0e9c3b7d55"},
    "get_goals": {},
    "set_goal": {"content": "x"},
    "find_strategies": {"task": "x"},
    "learn_strategy": {"task": "x", "content": "x"},
    "get_working": {},
    "set_working": {"thought": "x"},
    "create_entities": {"entities": [{"name": "x", "entityType": "x", "observations": []}]},
    "create_relations": {"relations": []},
    "add_observations": {"observations": []},
    "delete_entities": {"entityNames": ["x"]},
    "delete_observations": {"deletions": []},
    "delete_relations": {"relations": []},
    "read_graph": {},
    "search_nodes": {"query": "x"},
    "open_nodes": {"names": ["x"]},
    "search": {"query": "x"},
    "fetch": {"id": "x"},
}


async def test_no_argument_switches_the_owner(connect: Connect, memory: AsyncMemory) -> None:
    await memory.retain(SECRET, owner="bob")
    async with connect(*COMPATS) as client:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == set(EXAMPLES)
        for tool in tools:
            assert "owner" not in tool.input_schema.get("properties", {})
            message = await refused(client, tool.name, **EXAMPLES[tool.name], owner="bob")
            assert "bound to one owner" in message
        found = await called(client, "recall", query=SECRET)
    assert found["refused"]
    assert len(await memory.memories.list(owner="bob")) == 1


async def test_memories_of_another_owner_are_not_found(connect: Connect, memory: AsyncMemory) -> None:
    foreign = str((await memory.retain(SECRET, owner="bob")).memory_ids[0])
    await memory.entities.upsert("person", "Bob", facts={"hint": SECRET}, owner="bob")
    async with connect(*COMPATS) as client:
        answers = [
            await refused(client, "forget", memory_id=foreign),
            await refused(client, "retain", content="x", replaces=foreign),
            await refused(client, "fetch", id=foreign),
            await refused(client, "get_entity", name="Bob"),
            str(await called(client, "read_graph")),
            str(await called(client, "search_nodes", query="elephant")),
            str(await called(client, "search", query="elephant")),
        ]
        await called(client, "delete_entities", entityNames=["Bob"])
    assert "elephant" not in "".join(answers)
    assert (await memory.memories.get(foreign, owner="bob")).deleted_at is None
    assert (await memory.entities.get("person", "Bob", owner="bob")).facts == {"hint": SECRET}


async def test_without_a_bound_owner_each_call_names_one(connect: Connect, open_memory: OpenMemory) -> None:
    memory = await open_memory(owner=None)
    async with connect(*COMPATS, to=memory) as client:
        for tool in (await client.list_tools()).tools:
            assert tool.input_schema["required"][0] == "owner"
            assert "description" in tool.input_schema["properties"]["owner"]
            assert "owner must have" in await refused(client, tool.name, **EXAMPLES[tool.name])
        await called(client, "retain", owner="bob", content=SECRET)
        found = await called(client, "recall", owner="bob", query="blue elephant hint")
        other = await called(client, "recall", owner="alice", query="blue elephant hint")
        assert "owner must be text" in await refused(client, "recall", owner=7, query="x")
    assert [hit["content"] for hit in found["memories"]] == [SECRET]
    assert other["refused"]


async def test_a_shared_memory_names_its_owner(connect: Connect, memory: AsyncMemory) -> None:
    await memory.retain(SECRET, owner="bob")
    await accepted_grant(memory, "alice", owner="bob")
    async with connect() as client:
        found = await called(client, "recall", query="blue elephant hint")
    assert [(hit["content"], hit["shared_by"]) for hit in found["memories"]] == [(SECRET, "bob")]


async def test_a_reader_sees_no_tool_that_writes(connect: Connect) -> None:
    async with connect(*COMPATS, role="read") as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert names == {
        "recall",
        "query_archive",
        "get_entity",
        "why",
        "get_goals",
        "find_strategies",
        "get_working",
        "read_graph",
        "search_nodes",
        "open_nodes",
        "search",
        "fetch",
    }


@pytest.mark.parametrize("tool", WRITING, ids=lambda tool: tool.name)
async def test_a_reader_cannot_write(connect: Connect, memory: AsyncMemory, tool: object) -> None:
    name = tool.name  # type: ignore[attr-defined]
    await memory.entities.upsert("person", "x")
    async with connect("reference", role="read") as client:
        message = await refused(client, name, **EXAMPLES[name])
    assert message == "This key may only read; nothing was changed. Tell the user."
    assert await memory.memories.list() == []
    assert [entity.name for entity in await memory.entities.list()] == ["x"]


async def test_an_administrator_may_write(connect: Connect) -> None:
    async with connect(role="admin") as client:
        assert (await called(client, "retain", content="x"))["outcome"] == "stored"


def test_unknown_sets_of_tools_are_refused() -> None:
    assert check_compat(["chatgpt", "chatgpt"]) == {"chatgpt"}
    with pytest.raises(InvalidInputError, match="any of reference, chatgpt, not 'gemini'"):
        check_compat(["gemini"])
