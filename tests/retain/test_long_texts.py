"""Long texts are stored as chunks that share their status and join to the text, byte for byte."""

import pytest

from mnemic.errors import ConflictError, InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import CONTENT_MAX_CHARACTERS
from tests.fresh_tenants import Rows, contents

LONG = "".join(f"Sentence {number} of a long text, with ümläute.\r\n" for number in range(600))


@pytest.fixture
async def chunks(memory: AsyncMemory) -> tuple[object, ...]:
    return (await memory.retain(LONG)).stored[0].chunk_ids


async def test_a_long_text_comes_back_byte_for_byte_from_any_of_its_chunks(memory: AsyncMemory) -> None:
    retained = await memory.retain(LONG, tags=["book"], confidence=0.5)
    (stored,) = retained.stored
    assert stored.memory_id == stored.chunk_ids[0]
    assert len(stored.chunk_ids) == len(LONG) // CONTENT_MAX_CHARACTERS + 1
    for memory_id in stored.chunk_ids:
        assert await memory.memories.whole(memory_id) == LONG
    records = [await memory.memories.get(memory_id) for memory_id in stored.chunk_ids]
    assert [(record.chunk_index, record.chunk_count) for record in records] == [
        (index, len(records)) for index in range(len(records))
    ]
    assert {(record.whole_id, record.tags, record.confidence) for record in records} == {
        (stored.memory_id, ("book",), 0.5)
    }


async def test_the_longest_text_that_fits_is_one_memory(memory: AsyncMemory) -> None:
    text = "x" * CONTENT_MAX_CHARACTERS
    (stored,) = (await memory.retain(text)).stored
    record = await memory.memories.get(stored.memory_id)
    assert (stored.chunk_ids, record.whole_id) == ((stored.memory_id,), None)
    assert len((await memory.retain(text + "x")).stored[0].chunk_ids) == 2


async def test_the_longest_text_that_is_allowed_comes_back(memory: AsyncMemory) -> None:
    text = ("word " * 200_000)[:1_000_000]
    (stored,) = (await memory.retain(text)).stored
    assert await memory.memories.whole(stored.memory_id) == text


async def test_chunks_of_nothing_but_blanks_are_kept(memory: AsyncMemory) -> None:
    text = "start" + " " * 30_000 + "end"
    (stored,) = (await memory.retain(text)).stored
    assert await memory.memories.whole(stored.memory_id) == text


async def test_a_long_text_again_is_a_duplicate(memory: AsyncMemory) -> None:
    (first,) = (await memory.retain(LONG)).stored
    again = await memory.retain([LONG, LONG])
    assert [item.duplicate_of for item in again.duplicates] == [first.memory_id, first.memory_id]
    assert (await memory.admin.stats()).memory_count == len(first.chunk_ids)
    twice = await memory.retain([LONG + "!", LONG + "!"])
    assert (twice.stored_count, twice.duplicate_count) == (1, 1)


async def test_a_long_text_and_a_part_of_it_are_different_memories(memory: AsyncMemory) -> None:
    (part,) = (await memory.retain(LONG[: CONTENT_MAX_CHARACTERS - 100])).stored
    (whole,) = (await memory.retain(LONG)).stored
    assert await memory.memories.whole(whole.memory_id) == LONG
    assert await memory.memories.whole(part.memory_id) == LONG[: CONTENT_MAX_CHARACTERS - 100]


async def test_chunks_of_a_long_turn_share_its_position(memory: AsyncMemory) -> None:
    await memory.retain(["before", LONG, "after", LONG], conversation="c")
    turns = await memory.conversations.turns("c")
    assert "".join(contents(turns)) == f"before{LONG}after{LONG}"
    assert sorted({record.position for record in turns if record.position is not None}) == [0, 1, 2, 3]
    assert contents(await memory.conversations.recent(limit=1000)) == contents(turns)
    assert (await memory.conversations.get("c")).turn_count == 4


@pytest.mark.parametrize("place", [0, 1, -1])
async def test_forgetting_any_chunk_forgets_the_whole_text(memory: AsyncMemory, place: int) -> None:
    (stored,) = (await memory.retain(LONG)).stored
    forgotten = await memory.memories.forget(stored.chunk_ids[place], reason="wrong")
    assert await memory.memories.list() == []
    records = [await memory.memories.get(memory_id) for memory_id in stored.chunk_ids]
    assert {(record.deleted_at, record.version, record.change_reason) for record in records} == {
        (forgotten.deleted_at, 2, "wrong")
    }
    (again,) = (await memory.retain(LONG)).stored
    assert await memory.memories.whole(again.memory_id) == LONG
    with pytest.raises(ConflictError):
        await memory.memories.restore(stored.chunk_ids[place])
    await memory.memories.forget(again.chunk_ids[place])
    await memory.memories.restore(stored.chunk_ids[-1])
    assert len(await memory.memories.list()) == len(stored.chunk_ids)
    assert (await memory.retain(LONG)).memory_ids == (stored.memory_id,)


async def test_superseding_a_chunk_supersedes_the_whole_text(memory: AsyncMemory) -> None:
    (stored,) = (await memory.retain(LONG)).stored
    new = await memory.memories.supersede(stored.chunk_ids[1], "Shorter now.")
    assert contents(await memory.memories.list()) == ["Shorter now."]
    records = [await memory.memories.get(memory_id) for memory_id in stored.chunk_ids]
    assert {(record.status, record.superseded_by) for record in records} == {("superseded", new.memory_id)}
    await memory.memories.revert(stored.chunk_ids[2], 1)
    assert len(await memory.memories.list()) == 1 + len(stored.chunk_ids)


async def test_a_text_may_be_superseded_by_a_long_one(memory: AsyncMemory) -> None:
    (old,) = (await memory.retain("Short.")).memory_ids
    new = await memory.memories.supersede(old, LONG)
    assert await memory.memories.whole(new.memory_id) == LONG


async def test_the_words_of_a_chunk_cannot_be_changed_alone(memory: AsyncMemory) -> None:
    (stored,) = (await memory.retain(LONG)).stored
    with pytest.raises(InvalidInputError, match="part of a longer text"):
        await memory.memories.update(stored.chunk_ids[1], content="Other words.")
    await memory.memories.tag(stored.chunk_ids[1], "good part")
    assert await memory.memories.whole(stored.memory_id) == LONG


async def test_an_update_cannot_make_a_memory_too_long(memory: AsyncMemory, rows: Rows) -> None:
    (memory_id,) = (await memory.retain("short")).memory_ids
    before = rows.counts(memory.tenant.id)
    with pytest.raises(InvalidInputError, match="the limit is 8,192"):
        await memory.memories.update(memory_id, content=LONG)
    assert rows.counts(memory.tenant.id) == before
