"""Retained items are stored as given and found at once by lexical and by vector search."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mnemic.models.testing import HashedWords
from mnemic.sdk.memory import AsyncMemory
from tests.fresh_tenants import OpenMemory, Rows, contents, vector_of

MOMENT = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


async def test_a_text_is_a_fact_of_its_owner(memory: AsyncMemory) -> None:
    retained = await memory.retain("Alice moved to Berlin.")
    (memory_id,) = retained.memory_ids
    record = await memory.memories.get(memory_id)
    assert (record.content, record.category, record.source, record.provenance) == (
        "Alice moved to Berlin.",
        "factual",
        "user_provided",
        "witnessed",
    )
    assert (record.owner, record.channel, record.process, record.version, record.status) == (
        "alice",
        "_global",
        "sdk",
        1,
        "active",
    )
    assert record.created_at == record.recorded_at


async def test_every_field_of_an_item_is_returned(memory: AsyncMemory) -> None:
    (source_id,) = (await memory.retain("The source.")).memory_ids
    fields: dict[str, Any] = {
        "content": "  Ümläute, \n emoji 👩🏽‍🚀 and blanks stay as they are. ",
        "category": "preference",
        "source": "extracted",
        "provenance": "measured",
        "confidence": 0.25,
        "at": MOMENT,
        "valid_from": "2026-01-01T00:00:00+02:00",
        "valid_to": "2026-02-01T00:00:00Z",
        "expires_at": "2030-01-01T00:00:00Z",
        "conversation": "c-1",
        "role": "user",
        "name": "Alice",
        "tags": ["B", " a "],
        "metadata": {"deep": [1, {"x": None}], "ä": 1.5},
        "anchored": True,
        "evidence": [source_id, "https://example.org"],
        "external_id": "x-1",
    }
    retained = await memory.retain(fields)
    record = await memory.memories.get(retained.memory_ids[0])
    expected = fields | {
        "valid_from": datetime(2025, 12, 31, 22, tzinfo=UTC),
        "valid_to": datetime(2026, 2, 1, tzinfo=UTC),
        "expires_at": datetime(2030, 1, 1, tzinfo=UTC),
        "tags": ("a", "b"),
        "evidence": (str(source_id), "https://example.org"),
    }
    assert {name: getattr(record, name) for name in expected} == expected
    (link,) = await memory.memories.related(record.memory_id)
    assert (link.from_id, link.to_id, link.kind) == (record.memory_id, source_id, "derived_from")


async def test_fields_missing_in_an_item_come_from_the_call(memory: AsyncMemory) -> None:
    items: list[Any] = ["one", {"content": "two", "category": "procedural", "tags": ["own"]}]
    retained = await memory.retain(
        items, category="behavioral", tags=["default"], confidence=0.5, channel="work"
    )
    one, two = [await memory.memories.get(memory_id) for memory_id in retained.memory_ids]
    assert (one.category, one.tags, one.confidence, one.channel) == ("behavioral", ("default",), 0.5, "work")
    assert (two.category, two.tags, two.confidence) == ("procedural", ("own",), 0.5)


async def test_messages_and_turns_are_episodic_by_default(memory: AsyncMemory) -> None:
    retained = await memory.retain(
        [
            {"role": "user", "content": "Hello"},
            {"content": "Hi", "conversation": "c"},
            {"content": "Alice says hello.", "conversation": "c", "category": "factual"},
        ]
    )
    categories = [(await memory.memories.get(memory_id)).category for memory_id in retained.memory_ids]
    assert categories == ["episodic", "episodic", "factual"]


async def test_a_single_item_needs_no_list_in_either_call(memory: AsyncMemory) -> None:
    await memory.retain({"content": "one"})
    await memory.retain_many("two")
    await memory.retain_many({"content": "three"})
    assert sorted(contents(await memory.memories.list())) == ["one", "three", "two"]


async def test_nothing_to_retain_is_no_error(memory: AsyncMemory) -> None:
    retained = await memory.retain([])
    assert (retained.stored_count, retained.memory_ids) == (0, ())


async def test_lexical_index_and_vector_exist_when_the_call_returns(memory: AsyncMemory, rows: Rows) -> None:
    retained = await memory.retain({"content": "Berlin has many lakes.", "name": "Carol"})
    (memory_id,) = retained.memory_ids
    found = (
        "SELECT count(*) FROM state.memories WHERE memory_id = %s AND words @@ plainto_tsquery('english', %s)"
    )
    assert [rows.value(found, memory_id, words) for words in ("lake", "carol berlin", "sea")] == [1, 1, 0]
    assert retained.awaiting_embedding_count == 0
    (wanted,) = await HashedWords().embed(["Carol: Berlin has many lakes."])
    stored = (vector_of(rows, memory_id) or "").strip("[]").split(",")
    assert [float(number) for number in stored] == pytest.approx(list(wanted), abs=1e-3)


async def test_the_result_lists_every_item(memory: AsyncMemory) -> None:
    (known,) = (await memory.retain("known")).memory_ids
    (gone,) = (await memory.retain({"content": "gone", "external_id": "g"})).memory_ids
    await memory.memories.forget(gone)
    retained = await memory.retain(["new", "known", {"content": "gone", "external_id": "g"}, "newer"])
    assert [stored.index for stored in retained.stored] == [0, 3]
    assert [(duplicate.index, duplicate.duplicate_of) for duplicate in retained.duplicates] == [(1, known)]
    assert [refused.index for refused in retained.refused] == [2]
    assert str(gone) in retained.refused[0].reason
    assert (retained.stored_count, retained.duplicate_count, retained.refused_count) == (2, 1, 1)
    assert len(retained.memory_ids) == 3


async def test_ids_sort_in_the_order_of_the_items(memory: AsyncMemory) -> None:
    texts = [f"memory number {number}" for number in range(300)]
    await memory.retain(texts)
    assert contents(await memory.memories.list(limit=1000)) == texts[::-1]


async def test_metadata_may_be_nested_as_deep_as_allowed(memory: AsyncMemory) -> None:
    metadata: dict[str, Any] = {"deep": 1}
    for _ in range(98):
        metadata = {"in": metadata}
    (memory_id,) = (await memory.retain("x", metadata=metadata)).memory_ids
    await memory.memories.tag(memory_id, "changed")
    assert (await memory.memories.get(memory_id)).metadata == metadata


async def test_progress_counts_the_items(memory: AsyncMemory) -> None:
    heard: list[int] = []
    await memory.retain_many((f"item {number}" for number in range(1100)), progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1100


async def test_each_call_is_logged_with_its_counts(memory: AsyncMemory) -> None:
    await memory.retain(["one", "two"], conversation="c")
    await memory.retain("one", channel="work")
    second, first = await memory.log.list()
    assert (first.operation, first.conversation, first.memory_count) == ("retain", "c", 2)
    assert (second.channel, second.memory_count) == ("work", 1)


async def test_a_view_retains_in_its_own_scope(memory: AsyncMemory) -> None:
    view = memory.scope(owner="bob", channel="b", process="importer")
    (memory_id,) = (await view.retain("Bob's.")).memory_ids
    record = await view.memories.get(memory_id)
    assert (record.owner, record.channel, record.process) == ("bob", "b", "importer")
    assert await memory.memories.list() == []


async def test_tenants_do_not_share_memories_or_duplicates(
    memory: AsyncMemory, open_memory: OpenMemory
) -> None:
    other = await open_memory()
    (mine,) = (await memory.retain({"content": "Same words.", "external_id": "x"})).memory_ids
    answer = await other.retain({"content": "Same words.", "external_id": "x"})
    assert answer.stored_count == 1
    assert mine not in answer.memory_ids
