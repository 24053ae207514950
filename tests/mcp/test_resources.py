"""Resources: listing and reading them; memories of other owners and forgotten ones cannot be read."""

import pytest
from mcp import Client, MCPError
from mcp_types import TextResourceContents

from mnemic.mcp.size_limits import RESULT_MAX_CHARACTERS
from mnemic.sdk.memory import AsyncMemory
from tests.fresh_tenants import OpenMemory
from tests.mcp.conftest import Connect

BERLIN = "Alice moved to Berlin."


async def read(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    assert (content.uri, content.mime_type) == (uri, "text/plain")
    return content.text


async def test_resources_and_templates_are_listed(connect: Connect) -> None:
    async with connect() as client:
        pages = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
    assert [page.uri for page in pages] == ["memory://recent", "memory://entities", "memory://conversations"]
    assert [template.uri_template for template in templates] == [
        "memory://memories/{memory_id}",
        "memory://entities/{name}",
        "memory://conversations/{conversation}",
    ]
    assert all(page.description for page in pages)
    assert all(template.description for template in templates)


async def test_an_empty_memory_says_so(connect: Connect) -> None:
    async with connect() as client:
        texts = [await read(client, page.uri) for page in (await client.list_resources()).resources]
    assert texts == [
        "Nothing is remembered yet.",
        "Nobody and nothing is known by name yet.",
        "No conversation is remembered yet.",
    ]


async def test_recent_memories_link_to_each_memory(connect: Connect, memory: AsyncMemory) -> None:
    retained = await memory.retain(BERLIN, at="2026-03-01T10:00:00Z", tags=["home"])
    uri = f"memory://memories/{retained.memory_ids[0]}"
    async with connect() as client:
        assert await read(client, "memory://recent") == f"- [2026-03-01] {BERLIN} ({uri})"
        text = await read(client, uri)
    assert text.splitlines() == [
        "when: 2026-03-01 10:00 UTC",
        "category: factual",
        "tags: home",
        "status: active",
        "",
        BERLIN,
    ]


async def test_the_list_of_entities_links_to_each_entity(connect: Connect, memory: AsyncMemory) -> None:
    await memory.entities.upsert("project", "A/B test: größer?", facts={"state": "done"}, salience=0.9)
    await memory.entities.upsert("person", "Bob", salience=0.1)
    async with connect() as client:
        listed = (await read(client, "memory://entities")).splitlines()
        uri = listed[0].rpartition(" ")[2]
        text = await read(client, uri)
    assert listed[0].startswith("- A/B test: größer? (project): memory://entities/A%2FB")
    assert listed[1] == "- Bob (person): memory://entities/Bob"
    assert text == "A/B test: größer? (project)\n- state: done"


async def test_the_list_of_conversations_links_to_their_turns(connect: Connect, memory: AsyncMemory) -> None:
    turns = [{"role": "user", "content": f"turn {number}"} for number in range(205)]
    await memory.retain(turns, conversation="c 1")
    async with connect() as client:
        (listed,) = (await read(client, "memory://conversations")).splitlines()
        lines = (await read(client, listed.rpartition(" ")[2])).splitlines()
    assert "c 1, 205 turns: memory://conversations/c%201" in listed
    assert lines[0] == "5 earlier turns are not shown."
    assert "user: turn 5 (memory://memories/" in lines[1]
    assert "user: turn 204 (" in lines[-1]
    assert len(lines) == 201


@pytest.mark.parametrize(
    "uri",
    [
        "memory://nothing",
        "memory://memories/",
        "memory://memories/the-last-one",
        "memory://memories/01999999-0000-7000-8000-000000000000",
        "memory://entities/Nobody",
        "memory://conversations/none",
        "file:///etc/passwd",
        "memory://memories/../recent",
    ],
)
async def test_an_unknown_uri_is_an_error(connect: Connect, uri: str) -> None:
    async with connect() as client:
        with pytest.raises(MCPError) as raised:
            await client.read_resource(uri)
    assert raised.value.code == -32602


async def test_forgotten_memories_and_those_of_other_owners_cannot_be_read(
    connect: Connect, memory: AsyncMemory
) -> None:
    forgotten = await memory.retain(BERLIN)
    await memory.memories.forget(forgotten.memory_ids[0])
    foreign = await memory.retain("Bob moved to Bern.", owner="bob", conversation="c-bob")
    await memory.entities.upsert("person", "Bob", owner="bob")
    addresses = [
        f"memory://memories/{forgotten.memory_ids[0]}",
        f"memory://memories/{foreign.memory_ids[0]}",
        "memory://conversations/c-bob",
        "memory://entities/Bob",
    ]
    async with connect() as client:
        for uri in addresses:
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        assert await read(client, "memory://recent") == "Nothing is remembered yet."


async def test_long_resources_are_truncated(connect: Connect, memory: AsyncMemory) -> None:
    retained = await memory.retain("A long story. " * 20_000)
    async with connect() as client:
        text = await read(client, f"memory://memories/{retained.memory_ids[0]}")
        recent = await read(client, "memory://recent")
    assert len(text) == RESULT_MAX_CHARACTERS
    assert text.endswith("characters]")
    assert 8_000 <= len(recent) <= RESULT_MAX_CHARACTERS


async def test_without_an_owner_there_are_no_resources(connect: Connect, open_memory: OpenMemory) -> None:
    async with connect(to=await open_memory(owner=None)) as client:
        assert (await client.list_resources()).resources == []
        assert (await client.list_resource_templates()).resource_templates == []
        with pytest.raises(MCPError, match="bound to none"):
            await client.read_resource("memory://recent")
