"""Working memory: values, thoughts and the active goal expire, are bounded, and are cleared at will."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.maintenance.jobs import BATCH_ROWS
from mnemic.mind import working
from mnemic.sdk.memory import AsyncMemory
from tests.opened import core_of
from tests.waiting import wait_for_async


async def test_values_belong_to_a_channel_and_a_conversation(memory: AsyncMemory) -> None:
    kept = await memory.working.set("city", {"name": "Berlin"}, conversation="c-1")
    assert (kept.value, kept.conversation, kept.channel) == ({"name": "Berlin"}, "c-1", "_global")
    assert kept.expires_at - kept.created_at == timedelta(hours=1)
    assert await memory.working.get("city", conversation="c-1") == kept
    for elsewhere in ({}, {"conversation": "c-2"}, {"conversation": "c-1", "channel": "x"}):
        assert await memory.working.get("city", **elsewhere) is None
    assert await memory.working.get("city", conversation="c-1", owner="bob") is None
    await memory.working.set("city", None, conversation="c-1", expires_in_s=60)
    await memory.working.set("age", 3, conversation="c-1")
    assert [(each.key, each.value) for each in await memory.working.list(conversation="c-1")] == [
        ("age", 3),
        ("city", None),
    ]
    assert await memory.working.delete("city", conversation="c-1") is True
    assert await memory.working.delete("city", conversation="c-1") is False


async def test_an_expired_item_is_invisible_and_pruned(memory: AsyncMemory) -> None:
    goal = await memory.goals.create("Learn to sail")
    await memory.working.set("kept", 1)
    await memory.working.set("short", 1, expires_in_s=1)
    await memory.working.add_thought("a short one", expires_in_s=1)
    await memory.working.set_active_goal(goal.goal_id, expires_in_s=1)

    async def has_expired() -> bool:
        held = await memory.working.read()
        return (len(held.values), held.thoughts, held.goal) == (1, (), None)

    await wait_for_async(has_expired, what="everything to expire")
    assert await memory.working.get("short") is None
    assert await memory.working.delete("short") is False
    database = core_of(memory).storage.tenant_database
    assert await working.prune(database, limit=BATCH_ROWS) == 2
    assert await working.prune(database, limit=BATCH_ROWS) == 0
    # A key that has expired can be written again, and a write deletes what else has expired.
    await memory.working.set("again", 1, expires_in_s=1)
    await memory.working.set("other", 1, expires_in_s=1)

    async def is_gone() -> bool:
        return len(await memory.working.list()) == 1

    await wait_for_async(is_gone, what="the values to expire")
    assert (await memory.working.set("again", 2)).value == 2
    assert await working.prune(database, limit=BATCH_ROWS) == 0


async def test_the_newest_thoughts_are_kept(memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working, "THOUGHTS_MAX", 3)
    for number in range(5):
        await memory.working.add_thought(f"thought {number}", conversation="c-1")
    thoughts = await memory.working.thoughts(conversation="c-1")
    assert [each.content for each in thoughts] == ["thought 2", "thought 3", "thought 4"]
    assert await memory.working.thoughts() == []


async def test_the_active_goal_is_one_that_is_open(memory: AsyncMemory) -> None:
    assert await memory.working.active_goal() is None
    first, second = await memory.goals.create("First"), await memory.goals.create("Second")
    assert await memory.working.set_active_goal(first.goal_id, conversation="c-1") == first
    assert await memory.working.set_active_goal(second.goal_id, conversation="c-1") == second
    assert await memory.working.active_goal(conversation="c-1") == second
    await memory.goals.update(second.goal_id, status="completed")
    assert await memory.working.active_goal(conversation="c-1") is None
    with pytest.raises(ConflictError, match="completed"):
        await memory.working.set_active_goal(second.goal_id)
    await memory.goals.delete(second.goal_id)
    with pytest.raises(NotFoundError):
        await memory.working.set_active_goal(second.goal_id)


async def test_everything_is_read_at_once_with_the_last_turns(memory: AsyncMemory) -> None:
    turns = [{"role": "user", "content": f"Turn {number}"} for number in range(4)]
    await memory.retain(turns, conversation="c-1")
    goal = await memory.goals.create("Learn to sail")
    await memory.working.set_active_goal(goal.goal_id, conversation="c-1")
    value = await memory.working.set("city", "Berlin", conversation="c-1")
    thought = await memory.working.add_thought("Ask about the weather.", conversation="c-1")
    held = await memory.working.read(conversation="c-1", turns=2)
    assert (held.goal, held.values, held.thoughts) == (goal, (value,), (thought,))
    assert [turn.content for turn in held.turns] == ["Turn 2", "Turn 3"]
    assert (await memory.working.read(conversation="c-1", turns=0)).turns == ()
    assert await memory.working.clear(conversation="c-1") == 3
    held = await memory.working.read(conversation="c-1")
    assert (held.goal, held.values, held.thoughts, len(held.turns)) == (None, (), (), 4)


async def test_everything_of_an_owner_is_cleared(memory: AsyncMemory) -> None:
    await memory.working.set("a", 1, conversation="c-1")
    await memory.working.set("a", 1, channel="x")
    await memory.working.set("a", 1, owner="bob")
    assert await memory.working.clear(everywhere=True) == 2
    assert await memory.working.get("a", owner="bob") is not None
    with pytest.raises(InvalidInputError, match="leave conversation out"):
        await memory.working.clear(everywhere=True, conversation="c-1")


async def test_the_working_memory_is_bounded(
    wide_memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working, "VALUES_MAX", 3)
    monkeypatch.setattr(working, "OWNER_ITEMS_MAX", 5)
    answers = await asyncio.gather(
        *(wide_memory.working.set(f"key {number}", 1) for number in range(8)), return_exceptions=True
    )
    assert sum(isinstance(answer, ConflictError) for answer in answers) == 5
    kept = await wide_memory.working.list()
    assert len(kept) == 3
    assert (await wide_memory.working.set(kept[0].key, 2)).value == 2
    await wide_memory.working.set("a", 1, conversation="c-1")
    await wide_memory.working.add_thought("one", conversation="c-2")
    with pytest.raises(ConflictError, match="full"):
        await wide_memory.working.add_thought("two", conversation="c-2")
    await wide_memory.working.set("a", 1, owner="bob")


async def test_bad_input_is_refused(memory: AsyncMemory) -> None:
    bad_calls: list[dict[str, Any]] = [
        {"key": "", "value": 1},
        {"key": "a", "value": "x" * working.VALUE_MAX_BYTES},
        {"key": "a", "value": float("nan")},
        {"key": "a", "value": "\0"},
        {"key": "a", "value": {1}},
        *({"key": "a", "value": 1, "expires_in_s": bad} for bad in (0, -1, 0.5, 1e300, 2**70, "1", True)),
        *({"key": "a", "value": 1, "expires_in_s": bad} for bad in (float("inf"), float("nan"), 604_801)),
        {"key": "a", "value": 1, "conversation": ""},
    ]
    for bad in bad_calls:
        with pytest.raises(InvalidInputError):
            await memory.working.set(**bad)
    with pytest.raises(InvalidInputError):
        await memory.working.add_thought("x" * (working.THOUGHT_MAX_CHARACTERS + 1))
    with pytest.raises(InvalidInputError):
        await memory.working.read(turns=101)
    assert await memory.working.list() == []
