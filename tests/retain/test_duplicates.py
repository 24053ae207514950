"""Exact duplicates reinforce, repeated imports are no-ops, near duplicates are linked."""

from typing import Any

import pytest

from mnemic.errors import NotFoundError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import CONTENT_MAX_CHARACTERS
from tests.fresh_tenants import Rows, contents

LONG = "A sentence of a long text. " * (3 * CONTENT_MAX_CHARACTERS // 27)
OTHER_LONG = "Another sentence, that is not the same. " * (4 * CONTENT_MAX_CHARACTERS // 40)


async def test_the_same_content_again_reinforces_the_memory(memory: AsyncMemory) -> None:
    (first,) = (await memory.retain("Alice likes tea.")).memory_ids
    before = await memory.memories.get(first)
    again = await memory.retain(["Alice likes tea.", "new", "Alice likes tea."], tags=["ignored"])
    after = await memory.memories.get(first)
    assert [duplicate.duplicate_of for duplicate in again.duplicates] == [first, first]
    assert (after.reinforcement_count, after.version, after.tags) == (2, 1, ())
    assert before.salience < after.salience <= 1
    assert len(await memory.memories.list()) == 2


async def test_salience_stays_within_its_bounds_however_often_words_are_repeated(memory: AsyncMemory) -> None:
    (first,) = (await memory.retain("tea")).memory_ids
    await memory.retain(["tea"] * 100)
    record = await memory.memories.get(first)
    assert (record.reinforcement_count, record.salience) == (100, 1)


async def test_of_equal_items_in_a_call_the_first_is_stored(memory: AsyncMemory) -> None:
    retained = await memory.retain(["tea", "coffee", "tea", "tea"])
    first = retained.stored[0].memory_id
    assert [(stored.index) for stored in retained.stored] == [0, 1]
    assert [(item.index, item.duplicate_of) for item in retained.duplicates] == [(2, first), (3, first)]
    assert (await memory.memories.get(first)).reinforcement_count == 2


async def test_duplicates_in_different_batches_of_a_call_are_found(memory: AsyncMemory) -> None:
    items = ["tea", *(f"filler {number}" for number in range(1200)), "tea"]
    retained = await memory.retain_many(items)
    assert (retained.stored_count, retained.duplicate_count) == (1201, 1)
    assert retained.duplicates[0].index == 1201


async def test_memories_of_other_owners_and_forgotten_ones_are_no_duplicates(memory: AsyncMemory) -> None:
    (first,) = (await memory.retain("tea")).memory_ids
    assert (await memory.retain("tea", owner="bob")).stored_count == 1
    await memory.memories.forget(first)
    assert (await memory.retain("tea")).stored_count == 1


async def test_one_different_character_makes_another_memory(memory: AsyncMemory) -> None:
    retained = await memory.retain(["tea", "Tea", "tea ", "te\u0301a", "t\u00e9a"])
    assert retained.stored_count == 5


async def test_the_category_does_not_matter_for_duplicates(memory: AsyncMemory) -> None:
    await memory.retain("tea", category="factual")
    assert (await memory.retain("tea", category="preference")).duplicate_count == 1


async def test_equal_turns_are_not_duplicates(memory: AsyncMemory) -> None:
    turn = {"role": "user", "content": "yes"}
    assert (await memory.retain([turn, turn], conversation="c")).stored_count == 2
    assert (await memory.retain(turn, conversation="c")).stored_count == 1
    assert [record.position for record in await memory.conversations.turns("c")] == [0, 1, 2]


@pytest.mark.parametrize("content", ["short", LONG], ids=["short", "long"])
@pytest.mark.parametrize("conversation", [None, "c"])
async def test_a_repeated_import_changes_nothing(
    memory: AsyncMemory, rows: Rows, content: str, conversation: str | None
) -> None:
    items = [{"content": content, "external_id": "e-1"}, {"content": "other", "external_id": "e-2"}]
    first = await memory.retain(items, conversation=conversation)
    before = rows.counts(memory.tenant.id)
    second = await memory.retain(items, conversation=conversation)
    assert (second.stored_count, second.memory_ids) == (0, first.memory_ids)
    after = rows.counts(memory.tenant.id)
    assert after.pop("traces.memory_log") == before.pop("traces.memory_log") + 1
    assert after == before
    if conversation is not None:
        assert (await memory.conversations.get("c")).turn_count == 2


async def test_an_imported_item_is_known_by_its_external_id_after_its_content_changed(
    memory: AsyncMemory,
) -> None:
    (first,) = (await memory.retain({"content": "old words", "external_id": "e"})).memory_ids
    assert (await memory.retain({"content": "new words", "external_id": "e"})).memory_ids == (first,)
    assert (await memory.retain({"content": LONG, "external_id": "e"})).memory_ids == (first,)
    await memory.memories.supersede(first, "newer words")
    assert (await memory.retain({"content": "old words", "external_id": "e"})).memory_ids == (first,)


@pytest.mark.parametrize("content", ["short", LONG], ids=["short", "long"])
async def test_a_forgotten_imported_item_is_refused(memory: AsyncMemory, content: str) -> None:
    item = {"content": content, "external_id": "e"}
    (first,) = (await memory.retain(item)).memory_ids
    await memory.memories.forget(first)
    again = await memory.retain(item)
    assert (again.stored_count, again.refused_count, again.memory_ids) == (0, 1, ())
    assert f"restore {first}" in again.refused[0].reason
    await memory.memories.restore(first)
    assert (await memory.retain(item)).memory_ids == (first,)


@pytest.mark.parametrize(
    ("first", "second"),
    [("b", "a"), ("short", LONG), (LONG, "short"), (LONG, OTHER_LONG), (OTHER_LONG, LONG)],
    ids=["short", "short-long", "long-short", "long-longer", "longer-long"],
)
async def test_of_items_with_one_external_id_in_a_call_the_first_is_stored_whole(
    memory: AsyncMemory, first: str, second: str
) -> None:
    items: list[dict[str, Any]] = [{"content": text, "external_id": "e"} for text in (first, second)]
    retained = await memory.retain(items, conversation="c")
    assert ([item.index for item in retained.stored], [item.index for item in retained.duplicates]) == (
        [0],
        [1],
    )
    assert await memory.memories.whole(retained.memory_ids[0]) == first
    kept = await memory.memories.list(limit=100)
    assert sorted(contents(kept)) == sorted(contents(await memory.conversations.turns("c")))
    assert len(kept) == len(retained.stored[0].chunk_ids)
    assert (await memory.conversations.get("c")).turn_count == 1


async def test_near_duplicates_are_linked_once_and_not_merged(memory: AsyncMemory) -> None:
    (old,) = (await memory.retain("Alice likes green tea in the morning.")).memory_ids
    (new,) = (await memory.retain("Alice likes green tea in the morning!")).memory_ids
    (pair,) = await memory.memories.near_duplicates()
    assert (pair.memory_id, pair.like_id, pair.decision) == (new, old, "pending")
    assert pair.similarity >= 0.95
    assert len(await memory.memories.list()) == 2
    assert (await memory.admin.stats()).pending_near_duplicate_count == 1
    await memory.memories.decide_near_duplicate(new, old, "distinct")
    assert await memory.memories.near_duplicates() == []
    with pytest.raises(NotFoundError):
        await memory.memories.decide_near_duplicate(old, new, "distinct")


async def test_near_duplicates_within_one_call_are_one_pair(memory: AsyncMemory) -> None:
    retained = await memory.retain(
        ["Bob plays chess on Sundays.", "Bob plays chess on Sundays!", "Something else."]
    )
    pairs = [(pair.memory_id, pair.like_id) for pair in await memory.memories.near_duplicates()]
    assert pairs == [(retained.memory_ids[1], retained.memory_ids[0])]


async def test_only_active_memories_are_near_duplicates(memory: AsyncMemory) -> None:
    (old,) = (await memory.retain("Carol lives in Rome.")).memory_ids
    await memory.memories.supersede(old, "Carol lives in Rome!")
    (gone,) = (await memory.retain("Dora lives in Oslo.")).memory_ids
    await memory.memories.forget(gone)
    await memory.retain("Dora lives in Oslo!")
    assert await memory.memories.near_duplicates() == []


async def test_near_duplicates_are_never_of_another_owner(memory: AsyncMemory) -> None:
    await memory.retain("Alice likes green tea.", owner="bob")
    await memory.retain("Alice likes green tea!")
    assert await memory.memories.near_duplicates() == []
