"""Which changes publish an event, its content, and which changes publish none."""

import json
from pathlib import Path

import pytest

from mnemic.errors import ConflictError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.event import EVENT_TYPES
from tests.events.conftest import changes
from tests.fresh_tenants import OpenMemory, Rows
from tests.opened import core_of


async def test_the_life_of_a_memory(memory: AsyncMemory) -> None:
    (memory_id,) = (await memory.retain("Alice likes tea.", channel="kitchen")).memory_ids
    await memory.memories.update(memory_id, content="Alice likes coffee.")
    await memory.memories.forget(memory_id)
    await memory.memories.restore(memory_id)
    events = await memory.events.list()
    assert changes(events) == [
        (f"memory.{what}", str(memory_id)) for what in ("created", "changed", "forgotten", "restored")
    ]
    assert [event.position for event in events] == [1, 2, 3, 4]
    assert [event.data["version"] for event in events] == [1, 2, 3, 4]
    assert events[0].owner == "alice"
    assert dict(events[0].data) == {
        "channel": "kitchen",
        "category": "factual",
        "conversation": None,
        "version": 1,
        "status": "active",
    }
    assert sorted(event.at for event in events) == [event.at for event in events]


async def test_a_batch_publishes_one_event_per_memory(memory: AsyncMemory) -> None:
    retained = await memory.retain([f"Fact number {number}." for number in range(50)], conversation="c")
    events = await memory.events.list()
    assert {event.subject for event in events} == {str(memory_id) for memory_id in retained.memory_ids}
    assert {(event.type, event.data["conversation"]) for event in events} == {("memory.created", "c")}
    assert len(events) == 50


async def test_the_life_of_entities_and_relations(memory: AsyncMemory) -> None:
    alice = await memory.entities.upsert("person", "Alice", facts={"likes": "tea"})
    berlin = await memory.entities.upsert("city", "Berlin")
    await memory.entities.upsert("person", "Alice", facts={"likes": "coffee"})
    await memory.entities.relate(alice, berlin, "lives in")
    await memory.entities.relate(alice, berlin, "lives in", confidence=0.5)
    await memory.entities.delete("city", "Berlin")
    events = await memory.events.list()
    person, city = str(alice.entity_id), str(berlin.entity_id)
    assert changes(events[:5]) == [
        ("entity.created", person),
        ("entity.created", city),
        ("entity.changed", person),
        ("relation.created", person),
        ("relation.changed", person),
    ]
    # The relation goes with its end, in one statement.
    assert set(changes(events[5:])) == {("entity.deleted", city), ("relation.deleted", person)}
    assert dict(events[2].data) == {"category": "person", "name": "Alice", "version": 2}
    assert dict(events[3].data) == {"from_id": person, "to_id": city, "kind": "lives in"}


async def test_the_life_of_a_state_document(memory: AsyncMemory) -> None:
    await memory.state.set("mood", {"is": "secret"})
    await memory.state.set("mood", {"is": "hidden"})
    with pytest.raises(ConflictError):
        await memory.state.set("mood", 1, expected_version=7)
    await memory.state.delete("mood")
    await memory.state.delete("mood")
    events = await memory.events.list()
    assert changes(events) == [
        ("state.created", "mood"),
        ("state.changed", "mood"),
        ("state.deleted", "mood"),
    ]
    assert [dict(event.data) for event in events] == [
        {"key": "mood", "version": version} for version in (1, 2, 2)
    ]


async def test_every_event_type_has_a_trigger(memory: AsyncMemory, rows: Rows) -> None:
    """The list in Python and the triggers in the database agree."""
    triggers = rows.select(
        "SELECT encode(tgargs, 'escape') FROM pg_trigger"
        " WHERE starts_with(tgname, 'publish_') AND tgnargs = 1"
    )
    named = {str(argument).removesuffix("\\000") for (argument,) in triggers}
    assert named | {"memory.changed", "memory.forgotten", "memory.restored"} == set(EVENT_TYPES)


async def test_deleting_a_memory_publishes_an_event(memory: AsyncMemory, rows: Rows) -> None:
    (memory_id,) = (await memory.retain("To be gone.")).memory_ids
    rows.run(f"DELETE FROM state.memories WHERE memory_id = '{memory_id}'")
    assert changes(await memory.events.list())[-1] == ("memory.deleted", str(memory_id))


async def test_recalls_and_duplicates_publish_nothing(memory: AsyncMemory, rows: Rows) -> None:
    await memory.retain("Alice likes tea.")
    await memory.recall("What does Alice like?")
    await core_of(memory).write_recalled_counts()
    await memory.retain("Alice likes tea.")
    assert rows.value(
        "SELECT retrieval_count > 0 AND reinforcement_count > 0"
        " FROM state.memories JOIN state.recall_counts USING (tenant_id, memory_id) WHERE tenant_id = %s",
        memory.tenant.id,
    ), "something was counted"
    assert len(await memory.events.list()) == 1


async def test_events_contain_no_content(memory: AsyncMemory, rows: Rows) -> None:
    await memory.retain("The word is xylophone.", metadata={"m": "xylophone"}, tags=["xylophone"])
    await memory.state.set("key", "xylophone")
    await memory.entities.upsert("person", "Alice", facts={"plays": "xylophone"})
    assert len(await memory.events.list()) >= 3
    await memory.retain("Another xylophone.")
    for table in ("events", "event_inbox"):
        found = rows.value(f"SELECT count(*) FROM queue.{table} AS r WHERE r::text LIKE %s", "%xylophone%")
        assert found == 0, table


async def test_an_import_publishes_events_and_imports_none(
    memory: AsyncMemory, open_memory: OpenMemory, tmp_path: Path
) -> None:
    await memory.retain("Alice likes tea.")
    before = changes(await memory.events.list())
    exported = tmp_path / "alice.jsonl"
    await memory.admin.export(exported)
    assert '"queue.' not in exported.read_text()
    forged = {"table": "queue.events", "row": {"position": 7, "owner": "alice", "type": "memory.created"}}
    exported.write_text(exported.read_text() + json.dumps(forged) + "\n")
    other = await open_memory()
    await other.admin.import_(exported)
    assert changes(await other.events.list()) == before
