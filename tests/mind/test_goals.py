"""Goals: their statuses, deadlines, sub-goals and blockers, and the memories that hold their texts."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.mind import goals
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.goal import Goal

SOON = datetime(2027, 1, 1, tzinfo=UTC)
LATER = datetime(2027, 2, 1, tzinfo=UTC)


async def test_a_goal_is_a_memory_that_recall_finds(memory: AsyncMemory) -> None:
    goal = await memory.goals.create("Learn to sail", priority=8, deadline=SOON, tags=["sport"])
    assert (goal.status, goal.priority, goal.deadline, goal.tags) == ("active", 8, SOON, ("sport",))
    assert await memory.goals.get(goal.goal_id) == goal
    record = await memory.memories.get(goal.goal_id)
    assert (record.category, record.content, record.status) == ("prospective", "Learn to sail", "active")
    found = await memory.recall("sail", categories=["prospective"])
    assert [hit.memory.memory_id for hit in found] == [goal.goal_id]


async def test_goals_are_listed_in_the_order_in_which_they_are_due(memory: AsyncMemory) -> None:
    whenever = await memory.goals.create("Whenever")
    later = await memory.goals.create("Later", deadline=LATER)
    soon = await memory.goals.create("Soon", deadline=SOON)
    urgent = await memory.goals.create("Urgent", deadline=SOON, priority=10)
    elsewhere = await memory.goals.create("Elsewhere", channel="other")
    expected = [urgent, soon, later, whenever, elsewhere]
    assert await memory.goals.list() == expected
    assert await memory.goals.list(due_before=LATER) == [urgent, soon]
    assert await memory.goals.list(channel="other") == [elsewhere]
    assert await memory.goals.list(statuses=["completed"]) == []
    paged: list[Goal] = []
    last = None
    while page := await memory.goals.list(limit=2, after=last):
        paged += page
        last = page[-1].goal_id
    assert paged == expected
    with pytest.raises(NotFoundError):
        await memory.goals.list(after=uuid4())


async def test_a_closed_goal_leaves_recall_and_stays_in_the_history(memory: AsyncMemory) -> None:
    goal = await memory.goals.create("Water the plants")
    before = datetime.now(UTC)
    done = await memory.goals.update(goal.goal_id, status="completed", result="All of them are green.")
    assert (done.status, done.result) == ("completed", "All of them are green.")
    assert done.updated_at > goal.updated_at
    assert await memory.goals.list() == []
    assert (await memory.recall("plants")).refused
    assert [hit.memory.memory_id for hit in await memory.recall("plants", as_of=before)] == [goal.goal_id]
    assert await memory.goals.list(statuses=["completed"]) == [done]
    first, second = await memory.memories.history(goal.goal_id)
    assert (first.status, second.status) == ("active", "archived")
    assert second.change_reason == "goal completed: All of them are green."
    # A goal that comes again is another goal.
    again = await memory.goals.create("Water the plants")
    with pytest.raises(ConflictError):
        await memory.goals.update(goal.goal_id, status="active")
    await memory.goals.update(again.goal_id, status="abandoned")
    opened = await memory.goals.update(goal.goal_id, status="active", clear=["result"])
    assert (opened.status, opened.result) == ("active", None)
    assert [hit.memory.memory_id for hit in await memory.recall("plants")] == [goal.goal_id]


async def test_the_same_text_is_refused_and_names_the_memory(memory: AsyncMemory) -> None:
    goal = await memory.goals.create("Learn to sail")
    with pytest.raises(ConflictError, match=str(goal.goal_id)):
        await memory.goals.create("Learn to sail", priority=9)
    assert await memory.goals.list() == [goal]
    (known,) = (await memory.retain("Paint the house")).memory_ids
    with pytest.raises(ConflictError, match=str(known)):
        await memory.goals.create("Paint the house")
    assert (await memory.memories.get(known)).category == "factual"


async def test_a_goal_is_blocked_until_all_its_blockers_are_completed(memory: AsyncMemory) -> None:
    boat = await memory.goals.create("Buy a boat")
    money = await memory.goals.create("Save money")
    sail = await memory.goals.create("Sail away", blocked_by=[boat.goal_id])
    assert (sail.status, sail.open_blockers) == ("blocked", (boat.goal_id,))
    sail = await memory.goals.block(sail.goal_id, money.goal_id)
    assert sail.blocked_by == tuple(sorted([boat.goal_id, money.goal_id]))
    assert await memory.goals.list(statuses=["blocked"]) == [sail]
    with pytest.raises(ConflictError, match="waits for"):
        await memory.goals.update(sail.goal_id, status="active")
    await memory.goals.update(boat.goal_id, status="completed")
    assert (await memory.goals.get(sail.goal_id)).status == "blocked"
    await memory.goals.update(money.goal_id, status="completed")
    free = await memory.goals.get(sail.goal_id)
    assert (free.status, free.open_blockers, len(free.blocked_by)) == ("active", (), 2)
    await memory.goals.update(money.goal_id, status="active")
    assert (await memory.goals.get(sail.goal_id)).status == "blocked"
    assert (await memory.goals.unblock(sail.goal_id, money.goal_id)).status == "active"
    assert (await memory.goals.unblock(sail.goal_id, money.goal_id)).status == "active"


async def test_an_abandoned_blocker_still_blocks_and_a_forgotten_one_does_not(memory: AsyncMemory) -> None:
    boat = await memory.goals.create("Buy a boat")
    sail = await memory.goals.create("Sail away", blocked_by=[boat.goal_id])
    await memory.goals.update(boat.goal_id, status="abandoned")
    assert (await memory.goals.get(sail.goal_id)).open_blockers == (boat.goal_id,)
    assert await memory.goals.delete(boat.goal_id) is True
    assert await memory.goals.delete(boat.goal_id) is False
    assert (await memory.goals.get(sail.goal_id)).status == "active"
    with pytest.raises(NotFoundError):
        await memory.goals.get(boat.goal_id)
    await memory.memories.restore(boat.goal_id)
    assert (await memory.goals.get(sail.goal_id)).status == "blocked"


async def test_a_goal_may_be_blocked_by_hand(memory: AsyncMemory) -> None:
    goal = await memory.goals.create("Paint the fence")
    assert (await memory.goals.update(goal.goal_id, status="blocked")).status == "blocked"
    assert (await memory.goals.update(goal.goal_id, status="active")).status == "active"
    paint = await memory.goals.create("Buy paint")
    await memory.goals.update(goal.goal_id, status="blocked")
    await memory.goals.block(goal.goal_id, paint.goal_id)
    # From now on the blocker decides.
    await memory.goals.update(paint.goal_id, status="completed")
    assert (await memory.goals.get(goal.goal_id)).status == "active"


async def test_links_form_no_cycle(memory: AsyncMemory) -> None:
    first = await memory.goals.create("First")
    second = await memory.goals.create("Second", parent=first.goal_id, blocked_by=[first.goal_id])
    third = await memory.goals.create("Third", parent=second.goal_id, blocked_by=[second.goal_id])
    assert await memory.goals.list(parent=first.goal_id) == [second]
    for blocker in (first, second, third):
        with pytest.raises(ConflictError, match="wait"):
            await memory.goals.block(first.goal_id, blocker.goal_id)
        with pytest.raises(ConflictError, match="part of this one"):
            await memory.goals.update(first.goal_id, parent=blocker.goal_id)
    assert (await memory.goals.update(third.goal_id, clear=["parent"])).parent_id is None
    assert (await memory.goals.update(third.goal_id, parent=first.goal_id)).parent_id == first.goal_id


async def test_two_callers_cannot_close_a_cycle_together(wide_memory: AsyncMemory) -> None:
    for number in range(5):
        one = (await wide_memory.goals.create(f"One {number}")).goal_id
        other = (await wide_memory.goals.create(f"Other {number}")).goal_id
        answers = await asyncio.gather(
            wide_memory.goals.block(one, other), wide_memory.goals.block(other, one), return_exceptions=True
        )
        assert sorted(type(answer).__name__ for answer in answers) == ["ConflictError", "Goal"]


async def test_a_forgotten_parent_comes_back_with_its_sub_goals(memory: AsyncMemory) -> None:
    parent = await memory.goals.create("Parent")
    child = await memory.goals.create("Child", parent=parent.goal_id)
    await memory.goals.delete(parent.goal_id)
    assert (await memory.goals.update(child.goal_id, priority=1)).parent_id is None
    await memory.memories.restore(parent.goal_id)
    assert (await memory.goals.get(child.goal_id)).parent_id == parent.goal_id


async def test_sub_goals_are_nested_only_so_deeply(memory: AsyncMemory) -> None:
    parent = None
    for depth in range(goals.DEPTH_MAX):
        parent = (await memory.goals.create(f"Level {depth}", parent=parent)).goal_id
    with pytest.raises(ConflictError, match="levels deep"):
        await memory.goals.create("Too deep", parent=parent)
    tree = await memory.goals.create("A tree")
    await memory.goals.create("Its branch", parent=tree.goal_id)
    above = (await memory.goals.list(parent=None, limit=1000))[goals.DEPTH_MAX - 2]
    with pytest.raises(ConflictError, match="levels deep"):
        await memory.goals.update(tree.goal_id, parent=above.goal_id)


async def test_limits_are_named(memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goals, "BLOCKERS_MAX", 1)
    monkeypatch.setattr(goals, "OPEN_GOALS_MAX", 4)
    one, other = await memory.goals.create("One"), await memory.goals.create("Other")
    both = await memory.goals.create("Both", blocked_by=[one.goal_id])
    with pytest.raises(ConflictError, match="at most 1 blockers"):
        await memory.goals.block(both.goal_id, other.goal_id)
    done = await memory.goals.update(other.goal_id, status="completed")
    await memory.goals.create("Fourth")
    await memory.goals.create("Fifth")
    with pytest.raises(ConflictError, match="4 open goals"):
        await memory.goals.create("Sixth")
    with pytest.raises(ConflictError, match="4 open goals"):
        await memory.goals.update(done.goal_id, status="active")
    assert "Sixth" not in {record.content for record in await memory.memories.list()}


async def test_bad_input_is_refused_and_nothing_is_stored(memory: AsyncMemory) -> None:
    goal = await memory.goals.create("Learn to sail")
    bad_goals: list[dict[str, Any]] = [
        {"content": " "},
        {"content": "x" * 8_193},
        {"content": "One", "priority": 11},
        {"content": "Two", "priority": True},
        {"content": "Three", "deadline": "tomorrow"},
        {"content": "Four", "blocked_by": str(goal.goal_id)},
        {"content": "Five", "blocked_by": ["not an id"]},
        {"content": "Six", "parent": "not an id"},
    ]
    for bad in bad_goals:
        with pytest.raises(InvalidInputError):
            await memory.goals.create(**bad)
    with pytest.raises(NotFoundError):
        await memory.goals.create("Seven", parent=uuid4())
    bad_changes: list[dict[str, Any]] = [
        {},
        {"deadline": SOON, "clear": ["deadline"]},
        {"clear": ["status"]},
        {"status": "done"},
    ]
    for nothing in bad_changes:
        with pytest.raises(InvalidInputError):
            await memory.goals.update(goal.goal_id, **nothing)
    assert [each.content for each in await memory.memories.list()] == ["Learn to sail"]


async def test_the_text_of_a_goal_changes_with_its_memory(memory: AsyncMemory) -> None:
    goal = await memory.goals.create("Learn to sail")
    await memory.memories.update(goal.goal_id, content="Learn to row")
    assert (await memory.goals.get(goal.goal_id)).content == "Learn to row"
    await memory.memories.supersede(goal.goal_id, "Learn to swim")
    with pytest.raises(NotFoundError):
        await memory.goals.get(goal.goal_id)


async def test_an_overdue_goal_stays_open(memory: AsyncMemory) -> None:
    late = await memory.goals.create("Late", deadline=datetime.now(UTC) - timedelta(days=1))
    assert await memory.goals.list(due_before=datetime.now(UTC)) == [late]


async def test_a_branch_has_the_goals_of_its_parent_as_of_the_fork(memory: AsyncMemory) -> None:
    before = await memory.goals.create("Before the fork", channel="main")
    hidden = await memory.goals.create("Hidden in the branch", channel="main")
    await memory.channels.fork("trial", parent="main")
    await memory.goals.create("After the fork", channel="main")
    inside = await memory.goals.create("In the branch", channel="trial")
    await memory.memories.forget(hidden.goal_id, channel="trial")
    assert await memory.goals.list(channel="trial") == [before, inside]
    found = await memory.recall("goals", channel="trial", include=["goals"])
    assert found.goals == (before, inside)
    await memory.channels.merge("trial")
    assert "In the branch" in {goal.content for goal in await memory.goals.list(channel="main")}


async def test_goals_are_no_statements_and_are_not_archived_by_themselves(memory: AsyncMemory) -> None:
    await memory.goals.create("My name is Alice and I live in Berlin.")
    await memory.strategies.learn("My name is Bob.", "I work at Acme.")
    await memory.consolidate()
    assert [each.category for each in await memory.memories.list()] == ["procedural", "prospective"]
