"""ChatGPT's `search` and `fetch`, in the shapes that it requires."""

import json
from uuid import uuid4

from mnemic.mcp.size_limits import RESULT_MAX_CHARACTERS
from mnemic.mcp.tools import OWN_TOOLS
from mnemic.sdk.memory import AsyncMemory
from tests.accepted_grants import accepted_grant
from tests.fresh_tenants import OpenMemory
from tests.mcp.conftest import Connect, called, refused, text_of


async def test_both_are_listed_beside_our_own(connect: Connect) -> None:
    async with connect("chatgpt") as client:
        tools = (await client.list_tools()).tools
    added = tools[len(OWN_TOOLS) :]
    assert [tool.name for tool in added] == ["search", "fetch"]
    assert [list(tool.input_schema["properties"]) for tool in added] == [["query"], ["id"]]
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in added)


async def test_search_returns_ids_titles_and_uris(connect: Connect, memory: AsyncMemory) -> None:
    retained = await memory.retain(f"Alice moved to Berlin.\n{'It was raining there. ' * 20}")
    async with connect("chatgpt") as client:
        result = await client.call_tool("search", {"query": "Where did Alice move?"})
    memory_id = str(retained.memory_ids[0])
    (found,) = result.structured_content["results"]
    assert (found["id"], found["url"]) == (memory_id, f"memory://memories/{memory_id}")
    assert found["title"].startswith("Alice moved to Berlin. It was raining there.")
    assert len(found["title"]) <= 120
    assert len(result.content) == 1
    assert json.loads(text_of(result)) == result.structured_content


async def test_titles_say_who_shares_a_memory(connect: Connect, memory: AsyncMemory) -> None:
    await memory.retain("[shared by alice] Bob moved to Bern. " + "It was raining there. " * 20, owner="bob")
    await accepted_grant(memory, "alice", owner="bob")
    async with connect("chatgpt") as client:
        (found,) = (await called(client, "search", query="Where did Bob move?"))["results"]
    assert found["title"].startswith("[shared by bob] [shared by alice] Bob moved to Bern.")
    assert len(found["title"]) <= 120


async def test_a_note_marks_weak_results(connect: Connect, open_memory: OpenMemory) -> None:
    memory = await open_memory(settings={"refuse_below": 0})
    await memory.retain("Alice moved to Berlin.")
    async with connect("chatgpt", to=memory) as client:
        weak = await called(client, "search", query="quantum chromodynamics")
        sure = await called(client, "search", query="Where did Alice move?")
    assert weak["note"].startswith("These memories may not answer the question")
    assert len(weak["results"]) == 1
    assert list(sure) == ["results"]


async def test_search_returns_an_empty_list_if_nothing_is_known(connect: Connect) -> None:
    async with connect("chatgpt") as client:
        assert await called(client, "search", query="quantum chromodynamics") == {"results": []}


async def test_fetch_returns_the_whole_text_of_a_chunked_memory(
    connect: Connect, memory: AsyncMemory
) -> None:
    text = " ".join(f"Sentence {number} is about Berlin." for number in range(500))
    retained = await memory.retain(
        {"role": "user", "name": "Alice", "content": text, "tags": ["a", "b"], "at": "2026-03-01T10:00:00Z"},
        conversation="c-1",
    )
    last = str(retained.stored[0].chunk_ids[-1])
    async with connect("chatgpt") as client:
        result = await client.call_tool("fetch", {"id": last})
    fetched = result.structured_content
    assert (fetched["id"], fetched["text"]) == (last, text)
    assert fetched["url"] == f"memory://memories/{last}"
    assert fetched["metadata"] == {
        "category": "episodic",
        "when": "2026-03-01T10:00:00+00:00",
        "who": "Alice",
        "conversation": "c-1",
        "tags": "a, b",
    }
    assert json.loads(text_of(result)) == fetched


async def test_fetch_truncates_long_text(connect: Connect, memory: AsyncMemory) -> None:
    retained = await memory.retain('"quoted" text ' * 20_000)
    async with connect("chatgpt") as client:
        result = await client.call_tool("fetch", {"id": str(retained.memory_ids[0])})
    assert "… [cut here: the text has 280,000 characters]" in result.structured_content["text"]
    assert 15_000 <= len(text_of(result)) <= RESULT_MAX_CHARACTERS
    assert json.loads(text_of(result)) == result.structured_content


async def test_fetching_an_unknown_id_is_an_error(connect: Connect, memory: AsyncMemory) -> None:
    retained = await memory.retain("Alice moved to Berlin.")
    await memory.memories.forget(retained.memory_ids[0])
    async with connect("chatgpt") as client:
        assert "was forgotten" in await refused(client, "fetch", id=str(retained.memory_ids[0]))
        assert "Look it up" in await refused(client, "fetch", id=str(uuid4()))
        assert "id must be an id" in (await refused(client, "fetch", id="../etc")).replace("memory_", "")
