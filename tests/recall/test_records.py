"""Every field of a hit's memory is as `memories.get` returns it, whichever query read it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemic.db.database import Database
from mnemic.recall.candidates.neighbours import RECORD_MAX_BYTES
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import CONTENT_MAX_CHARACTERS, MemoryRecord
from tests.opened import core_of, opened

LONG = "lighthouse " + "stone " * (RECORD_MAX_BYTES // 6)
ODD = ['comma, and "quotes"', "{braces}", "back\\slash", "ünïcode 🗼", "NULL"]
ITEMS: list[dict[str, Any]] = [
    {"content": "A lighthouse, and nothing else said about it."},
    {"content": LONG},
    {"content": 'lighthouse 🗼 \\ " { } , NULL', "tags": ODD, "metadata": {"a": {"b": [1, None, "x"]}}},
    {"content": "The lighthouse with much metadata.", "metadata": {"text": "x" * RECORD_MAX_BYTES}},
    {"content": "The lighthouse was proved.", "evidence": ["message 1", 'a "second", one']},
    {
        "content": "A lighthouse of a time.",
        "at": "2024-05-01T10:00:00Z",
        "valid_from": "2024-05-01T00:00:00Z",
        "valid_to": "2090-01-01T00:00:00Z",
        "expires_at": "2090-01-01T00:00:00Z",
    },
    {
        "content": "A lighthouse from elsewhere.",
        "external_id": "elsewhere 7",
        "role": "user",
        "name": "Ada",
        "confidence": 0.3,
        "anchored": True,
        "category": "preference",
        "source": "imported",
        "provenance": "reasoned",
    },
    {"content": "lighthouse. " + "A chunk of stone. " * (CONTENT_MAX_CHARACTERS // 9)},
]


@pytest.fixture
async def memory(database: Database) -> AsyncMemory:
    """A memory with all kinds of lighthouses, some superseded or recalled before."""
    memory = opened(database, await database.open_tenant("default"), embedder="test", owner="alice")
    retained = await memory.retain(ITEMS)
    await memory.retain("Is that a lighthouse?", conversation="talk", role="user")
    await memory.retain("It is, said the keeper.", conversation="talk", role="assistant")
    await memory.memories.supersede(retained.memory_ids[0], "A lighthouse, painted red.", reason="paint")
    await memory.recall("lighthouse", limit=3, refuse_below=0)
    await core_of(memory).write_recalled_counts()
    return memory


async def test_a_hit_is_the_memory_with_all_its_fields(memory: AsyncMemory) -> None:
    found = await memory.recall("lighthouse", limit=50, refuse_below=0, statuses=["active", "superseded"])
    assert len(found) >= len(ITEMS) + 3
    assert {len(hit.memory.content) > RECORD_MAX_BYTES for hit in found} == {True, False}
    for hit in found:
        assert hit.memory == await memory.memories.get(hit.memory.memory_id)


async def test_a_neighbour_is_the_memory_with_all_its_fields(memory: AsyncMemory) -> None:
    question = "Is that a lighthouse?"
    found = await memory.recall(question, limit=50, refuse_below=0, include=["neighbours"])
    (around,) = next(hit.neighbours for hit in found if hit.memory.content == question)
    assert around.content == "It is, said the keeper."
    assert around == await memory.memories.get(around.memory_id)


async def test_a_hit_as_of_the_past_has_the_fields_of_that_time(memory: AsyncMemory) -> None:
    before = datetime.now(UTC)
    first = await memory.recall("lighthouse", limit=50, refuse_below=0)
    for hit in first:
        await memory.memories.update(hit.memory.memory_id, tags=["changed"])
    past = await memory.recall(
        "lighthouse", limit=50, refuse_below=0, as_of=before + timedelta(milliseconds=1)
    )
    assert [_known(hit.memory) for hit in past] == [_known(hit.memory) for hit in first]


def _known(memory: MemoryRecord) -> tuple[object, ...]:
    """The fields that do not depend on the time of the recall."""
    return (memory.memory_id, memory.version, memory.content, memory.tags, memory.metadata, memory.evidence)


@pytest.mark.parametrize("name", ['a,"b\\)(', "{x}", "null", "it's", "(", "\\", '""', "ü🗼"])
async def test_a_filter_works_with_any_characters(memory: AsyncMemory, name: str) -> None:
    """A filter is sent as one composite value, in which commas, quotes and brackets have a meaning."""
    await memory.retain(
        "A lighthouse to look for.", conversation=name, role="user", channel=name, tags=[name]
    )
    filters: list[dict[str, Any]] = [{}, {"conversation": name}, {"tags": [name]}]
    for wanted in filters:
        found = await memory.recall("lighthouse", refuse_below=0, channels=[name], **wanted)
        assert [hit.memory.content for hit in found] == ["A lighthouse to look for."]
