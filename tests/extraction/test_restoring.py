"""What a forgotten statement had replaced is current again, and gives way when that one is restored."""

import os
import random
from typing import Any

import pytest

from mnemic.record.memories import change_memory, forgotten
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import MemoryRecord
from tests.extraction.test_contradictions import SCOPE, known, one, say
from tests.opened import core_of

BATH, OSLO, ROME = (f"The user lives in {place}." for place in ("Bath", "Oslo", "Rome"))


async def turn(memory: AsyncMemory, text: str) -> MemoryRecord:
    return next(each for each in await memory.conversations.turns("c") if each.content == text)


async def forget(memory: AsyncMemory, text: str) -> None:
    await memory.memories.forget((await turn(memory, text)).memory_id)


async def test_forgetting_the_turn_that_replaced_a_value_restores_it(memory: AsyncMemory) -> None:
    await say(memory, "I live in Bath.")
    before = await one(memory, BATH)
    await say(memory, "I live in Oslo.", day=1)
    assert (await one(memory, BATH)).valid_to is not None
    oslo = await turn(memory, "I live in Oslo.")
    await memory.memories.forget(oslo.memory_id)
    after = await one(memory, BATH)
    assert (after.status, after.superseded_by, after.valid_to) == ("active", None, before.valid_to)
    assert await known(memory) == [BATH]
    assert [each.object for each in await memory.triples.list()] == ["Bath"]
    await memory.memories.restore(oslo.memory_id)
    assert await known(memory) == [OSLO]
    assert (await one(memory, BATH)).superseded_by == (await one(memory, OSLO)).memory_id
    assert [each.object for each in await memory.triples.list()] == ["Oslo"]


async def test_forgetting_the_statement_itself_does_the_same(memory: AsyncMemory) -> None:
    await say(memory, "I live in Bath.")
    await say(memory, "I live in Oslo.", day=1)
    oslo = await one(memory, OSLO)
    await memory.memories.forget(oslo.memory_id)
    assert await known(memory) == [BATH]
    await memory.memories.restore(oslo.memory_id)
    assert await known(memory) == [OSLO]


async def test_a_third_value_stays_and_replaces_the_first(memory: AsyncMemory) -> None:
    for day, place in enumerate(("Bath", "Oslo", "Rome")):
        await say(memory, f"I live in {place}.", day=day)
    oslo, rome = [await turn(memory, f"I live in {place}.") for place in ("Oslo", "Rome")]
    await memory.memories.forget(oslo.memory_id)
    assert await known(memory) == [ROME]
    assert (await one(memory, BATH)).superseded_by == (await one(memory, ROME)).memory_id
    await memory.memories.forget(rome.memory_id)
    assert await known(memory) == [BATH]
    await memory.memories.restore(oslo.memory_id)
    assert await known(memory) == [OSLO]
    await memory.memories.restore(rome.memory_id)
    assert await known(memory) == [ROME]


async def test_a_denial_that_is_forgotten_denies_nothing(memory: AsyncMemory) -> None:
    await say(memory, "I love chess.", "I love tea.")
    await say(memory, "I no longer work at Acme.", "I hate chess.", day=1)
    assert "The user likes chess." not in await known(memory)
    await forget(memory, "I hate chess.")
    assert "The user likes chess." in await known(memory)
    assert "The user dislikes chess." not in await known(memory)


async def test_a_value_that_is_said_twice_rests_on_the_other_turn(memory: AsyncMemory) -> None:
    await say(memory, "I live in Bath.")
    await say(memory, "I live in Oslo.", "Yes, I live in Oslo now.", day=1)
    await forget(memory, "I live in Oslo.")
    assert await known(memory) == [OSLO], "the other turn says it, too"
    await forget(memory, "Yes, I live in Oslo now.")
    assert await known(memory) == [BATH]


async def test_a_text_that_is_active_again_is_not_doubled(memory: AsyncMemory) -> None:
    for day, place in enumerate(("Bath", "Oslo", "Bath", "Oslo")):
        await say(memory, f"{'So ' * day}I live in {place}.", day=day)
    assert await known(memory) == [OSLO]
    for day in (1, 3):
        await forget(memory, f"{'So ' * day}I live in Oslo.")
    assert await known(memory) == [BATH]


async def test_what_a_person_decided_stays(memory: AsyncMemory) -> None:
    await say(memory, "I live in Bath.")
    await say(memory, "I live in Oslo.", day=1)
    (changeset,) = await memory.curation.list()
    await memory.curation.undo(changeset.changeset_id)
    bath, oslo = await one(memory, BATH), await one(memory, OSLO)
    await memory.memories.forget(oslo.memory_id)
    await memory.memories.restore(oslo.memory_id)
    assert await known(memory) == [BATH, OSLO], "both hold: that was decided"
    rome = await memory.memories.supersede(bath.memory_id, "The user lives in Rome.")
    await memory.memories.forget(rome.memory_id)
    assert await known(memory) == [OSLO], "a person has superseded it, no contradiction"


async def test_a_statement_that_was_changed_since_does_not_give_way(memory: AsyncMemory) -> None:
    await say(memory, "I live in Bath.")
    await say(memory, "I live in Oslo.", day=1)
    oslo = await one(memory, OSLO)
    await memory.memories.forget(oslo.memory_id)
    await memory.memories.tag((await one(memory, BATH)).memory_id, "checked")
    await memory.memories.restore(oslo.memory_id)
    assert await known(memory) == [BATH, OSLO]


async def test_each_step_is_a_changeset_that_can_be_undone(memory: AsyncMemory) -> None:
    await say(memory, "I live in Bath.")
    await say(memory, "I live in Oslo.", day=1)
    superseded = await one(memory, BATH)
    oslo = await one(memory, OSLO)
    await memory.memories.forget(oslo.memory_id)
    newest, first = await memory.curation.list()
    assert [each.purpose for each in (newest, first)] == ["contradiction"] * 2
    await memory.memories.restore(oslo.memory_id)
    for changeset in (await memory.curation.list())[:2]:
        await memory.curation.undo(changeset.changeset_id)
    again = await one(memory, BATH)
    assert (again.status, again.superseded_by, again.valid_to) == (
        superseded.status,
        superseded.superseded_by,
        superseded.valid_to,
    )


async def test_a_pass_finds_what_was_forgotten_in_another_way(memory: AsyncMemory) -> None:
    await say(memory, "I live in Bath.")
    await say(memory, "I live in Oslo.", day=1)
    oslo = await turn(memory, "I live in Oslo.")
    await change_memory(
        core_of(memory).storage.tenant_database,
        SCOPE,
        oslo.memory_id,
        forgotten,
        changed_by="user",
        reason=None,
        reembed=never,
    )
    assert await known(memory) == []
    await memory.consolidate()
    restored = await one(memory, BATH)
    assert await known(memory) == [BATH]
    await memory.consolidate()
    assert (await one(memory, BATH)).version == restored.version, "there is nothing left to do"


async def never(record: MemoryRecord) -> Any:
    raise AssertionError("the text is the same")


async def test_another_owner_and_channel_is_left_alone(memory: AsyncMemory) -> None:
    await say(memory, "I live in Bath.")
    await say(memory, "I live in Oslo.", day=1)
    other = memory.scope(owner="bob")
    turns = [{"role": "user", "content": "I live in Bath."}, {"role": "user", "content": "I live in Oslo."}]
    retained = await other.retain(turns, conversation="c")
    await other.consolidate()
    await other.memories.forget(retained.memory_ids[1])
    assert await known(other) == [BATH]
    assert await known(memory) == [OSLO]


@pytest.mark.parametrize("seed", range(40 if "SLOW_TESTS" in os.environ else 3))
async def test_the_current_value_is_the_last_one_of_a_turn_that_is_not_forgotten(
    memory: AsyncMemory, seed: int
) -> None:
    chance = random.Random(seed)
    places = ["Bath", "Oslo", "Rome", "Lima", "Cork"]
    for day, place in enumerate(places):
        await say(memory, f"I live in {place}.", day=day)
    turns = [(await turn(memory, f"I live in {place}.")).memory_id for place in places]
    forgotten_days: set[int] = set()
    for _ in range(12):
        day = chance.randrange(len(places))
        if day in forgotten_days:
            await memory.memories.restore(turns[day])
        else:
            await memory.memories.forget(turns[day])
        forgotten_days ^= {day}
        left = [place for day, place in enumerate(places) if day not in forgotten_days]
        assert await known(memory) == [f"The user lives in {place}." for place in left[-1:]], forgotten_days
        assert [each.object for each in await memory.triples.list()] == left[-1:]
