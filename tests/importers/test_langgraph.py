"""Items of a LangGraph store are kept as `MnemicStore` keeps them."""

from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from mnemic.adapters.importing import import_from, langgraph
from mnemic.adapters.langgraph_items import prefix_key, state_key
from mnemic.sdk.memory import AsyncMemory
from tests.importers.conftest import Write


def exported() -> list[dict[str, Any]]:
    """What a real store gives."""
    store = InMemoryStore()
    store.put(("users", "alice"), "prefs", {"text": "Likes oat milk.", "score": 3})
    store.put(("users", "bob"), "prefs", {"text": "Likes oat milk.", "score": 3})
    store.put(("docs",), "empty", {})
    return [item.dict() for item in store.search((), limit=100)]


async def test_items_become_documents_and_memories(memory: AsyncMemory, write: Write) -> None:
    items = exported()
    report = await import_from(memory, "langgraph", write("items.jsonl", *items))
    assert (report.imported_count, report.skipped_count) == (2, 0)
    for item in items:
        held = await memory.state.get(state_key(item["namespace"], item["key"]))
        assert held is not None
        assert held.document["value"] == item["value"]
        assert held.document["created_at"] == item["created_at"]
        assert (held.document["memory_id"] is None) == (item["value"] == {})
    found = await memory.recall("oat milk", refuse_below=0)
    assert {hit.memory.metadata["langgraph"]["namespace"][1] for hit in found} == {"alice", "bob"}


async def test_a_repeated_import_does_not_change_newer_items(
    memory: AsyncMemory, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(langgraph, "BATCH_ITEMS_MAX", 2)
    path = write("items.json", {"items": exported()})
    await import_from(memory, "langgraph", path)
    key = state_key(["docs"], "empty")
    await memory.state.set(key, {"changed": True})
    again = await import_from(memory, "langgraph", path)
    assert (again.batch_count, again.imported_count, again.known_count) == (2, 0, 2)
    held = await memory.state.get(key)
    assert held is not None
    assert held.document == {"changed": True}
    assert len(await memory.state.list(prefix=prefix_key(()))) == 3


async def test_an_invalid_item_is_skipped(memory: AsyncMemory, write: Write) -> None:
    good = exported()[0]
    odd = [
        {**good, "namespace": "users"},
        {**good, "namespace": []},
        {**good, "key": ""},
        {**good, "value": "text"},
        {**good, "key": "x" * 300},
        {**good, "created_at": "soon"},
    ]
    report = await import_from(memory, "langgraph", write("items.jsonl", *odd, good))
    assert (report.imported_count, report.skipped_count) == (1, 6)
    assert [skipped.reason.split()[0] for skipped in report.skipped] == [
        "namespace",
        "namespace",
        "key",
        "value",
        "namespace",
        "created_at",
    ]
