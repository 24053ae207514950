"""The reference MCP memory server's file becomes entities, facts, memories and relations."""

from typing import Any

import pytest

from mnemic.adapters.importing import import_from
from mnemic.errors import InvalidInputError
from mnemic.mcp import reference_graph
from mnemic.sdk.memory import AsyncMemory
from tests.importers.conftest import Write


def entity(name: str, kind: str, *observations: str) -> dict[str, Any]:
    return {"type": "entity", "name": name, "entityType": kind, "observations": list(observations)}


def relation(start: str, end: str, kind: str) -> dict[str, Any]:
    return {"type": "relation", "from": start, "to": end, "relationType": kind}


LINES = [
    relation("Alice", "Acme", "works at"),
    entity("Alice", "Person", "Alice plays the cello", "lives in Berlin"),
    entity("Acme", "company"),
    relation("Alice", "Nobody", "knows"),
]


async def test_entities_observations_and_relations_are_imported(memory: AsyncMemory, write: Write) -> None:
    report = await import_from(memory, "mcp-memory", write("memory.jsonl", *LINES))
    assert (report.imported_count, report.skipped_count) == (2, 1)
    assert "'Nobody', which is not an entity of the file" in report.skipped[0].reason
    alice = await memory.entities.get("person", "Alice")
    assert sorted(alice.facts.values()) == ["Alice plays the cello", "lives in Berlin"]
    assert all(name.startswith("observation ") for name in alice.facts)
    assert alice.metadata == {"entity_type": "Person"}
    graph = await memory.entities.graph(alice)
    assert [node.name for node in graph.nodes] == ["Alice", "Acme"]
    assert [one.kind for one in graph.relations] == ["works at"]
    found = await memory.recall("Who plays the cello?")
    assert found[0].memory.content == "Alice plays the cello"
    assert {record.content for record in await memory.memories.list()} == {
        "Alice plays the cello",
        "Alice: lives in Berlin",
    }


async def test_mnemic_mcp_serves_imported_entities(memory: AsyncMemory, write: Write) -> None:
    await import_from(memory, "mcp-memory", write("memory.jsonl", *LINES))
    alice = await reference_graph.require_named(memory, "Alice")
    assert reference_graph.observations(alice) == ["Alice plays the cello", "lives in Berlin"]
    assert reference_graph.entity_type(alice) == "Person"
    await reference_graph.retract(memory, alice, ["lives in Berlin"])
    assert [record.content for record in await memory.memories.list()] == ["Alice plays the cello"]


async def test_a_repeated_import_adds_only_new_observations(memory: AsyncMemory, write: Write) -> None:
    await import_from(memory, "mcp-memory", write("memory.jsonl", *LINES))
    more = [*LINES, entity("Alice", "Person", "lives in Berlin", "has a dog")]
    report = await import_from(memory, "mcp-memory", write("more.jsonl", *more))
    assert (report.imported_count, report.known_count) == (1, 3)
    alice = await memory.entities.get("person", "Alice")
    assert sorted(alice.facts.values()) == ["Alice plays the cello", "has a dog", "lives in Berlin"]
    assert len(await memory.entities.list()) == 2


async def test_many_observations_of_one_entity_are_all_kept(memory: AsyncMemory, write: Write) -> None:
    observations = [f"observed {number}" for number in range(300)]
    await import_from(memory, "mcp-memory", write("memory.jsonl", entity("Log", "file", *observations)))
    assert sorted((await memory.entities.get("file", "Log")).facts.values()) == sorted(observations)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"type": "thing"}, "record 2: type must be entity or relation"),
        ({"type": "entity", "name": "x"}, "record 2: entityType is missing"),
        ({"type": "relation", "from": "x", "to": " ", "relationType": "y"}, "record 2: to is missing"),
        ({**entity("x", "y"), "observations": [1]}, "observations must be a list of texts"),
    ],
)
async def test_a_malformed_line_is_found_before_anything_is_stored(
    memory: AsyncMemory, write: Write, line: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        await import_from(memory, "mcp-memory", write("memory.jsonl", entity("Alice", "person", "x"), line))
    assert (await memory.memories.list(), await memory.entities.list()) == ([], [])


async def test_invalid_entities_and_relations_are_skipped(memory: AsyncMemory, write: Write) -> None:
    lines = [
        entity("A", "x" * 65, "kept as a memory"),
        entity("B", "person", " "),
        relation("B", "B", "knows"),
        relation("A", "B", "knows"),
    ]
    report = await import_from(memory, "mcp-memory", write("memory.jsonl", *lines))
    assert (report.imported_count, report.skipped_count) == (1, 4)
    assert [each.name for each in await memory.entities.list()] == ["B"]
