"""Goals, strategies, working memory and `recall(…, include=…)` are the same on every transport."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.types.conversation import Conversation
from mnemic.types.goal import Goal
from mnemic.types.profile import Profile
from mnemic.types.strategy import Strategy, StrategyUse, ToolStatistics
from mnemic.types.working import Thought, WorkingMemory, WorkingValue

DEADLINE = datetime(2030, 1, 1, tzinfo=UTC)


async def test_goals_wait_for_each_other_and_are_completed(memory: Any, owner: str) -> None:
    boat = await memory.goals.create("Buy a boat", deadline=DEADLINE, priority=9, metadata={"m": [1]})
    assert isinstance(boat, Goal)
    assert (boat.owner, boat.deadline, boat.metadata) == (owner, DEADLINE, {"m": [1]})
    sail = await memory.goals.create(
        "Sail away", parent=boat.goal_id, blocked_by=[boat.goal_id], tags=["sea"]
    )
    assert (sail.status, sail.parent_id, sail.open_blockers) == ("blocked", boat.goal_id, (boat.goal_id,))
    assert await memory.goals.list() == [boat, sail]
    assert await memory.goals.list(statuses=["blocked"], parent=boat.goal_id) == [sail]
    with pytest.raises(ConflictError):
        await memory.goals.block(boat.goal_id, sail.goal_id)
    done = await memory.goals.update(boat.goal_id, status="completed", result="A red one.")
    assert (done.status, done.result) == ("completed", "A red one.")
    assert (await memory.goals.get(str(sail.goal_id))).status == "active"
    assert await memory.goals.list(statuses=None, due_before="2031-01-01") == [done]
    assert (await memory.goals.unblock(sail.goal_id, boat.goal_id)).blocked_by == ()
    assert (await memory.goals.update(sail.goal_id, clear=["parent"])).parent_id is None
    assert await memory.goals.delete(sail.goal_id) is True
    with pytest.raises(NotFoundError):
        await memory.goals.get(sail.goal_id)
    with pytest.raises(InvalidInputError):
        await memory.goals.update(boat.goal_id)


async def test_the_working_memory_is_written_read_and_cleared(memory: Any) -> None:
    goal = await memory.goals.create("Learn to sail")
    place = {"conversation": "c/ü-1"}
    value = await memory.working.set("a/b ü", {"x": [1, None]}, expires_in_s=60, **place)
    assert isinstance(value, WorkingValue)
    assert await memory.working.get("a/b ü", **place) == value
    assert await memory.working.get("a/b ü") is None
    thought = await memory.working.add_thought("Ask first.", **place)
    assert isinstance(thought, Thought)
    assert await memory.working.thoughts(**place) == [thought]
    assert await memory.working.set_active_goal(goal.goal_id, **place) == goal
    assert await memory.working.active_goal(**place) == goal
    await memory.retain({"role": "user", "content": "Hello"}, conversation="c/ü-1")
    held = await memory.working.read(turns=5, **place)
    assert isinstance(held, WorkingMemory)
    assert (held.goal, held.values, held.thoughts) == (goal, (value,), (thought,))
    assert [turn.content for turn in held.turns] == ["Hello"]
    assert await memory.working.list(**place) == [value]
    assert await memory.working.delete("a/b ü", **place) is True
    assert await memory.working.clear(**place) == 2
    assert await memory.working.clear(everywhere=True) == 0
    assert await memory.working.active_goal(**place) is None
    with pytest.raises(InvalidInputError, match="expires_in_s"):
        await memory.working.set("a", 1, expires_in_s=1e12)


async def test_strategies_are_learnt_found_and_reinforced(memory: Any) -> None:
    learnt = await memory.strategies.learn("bake bread", "Let the dough rest.", tools=["oven"])
    assert isinstance(learnt, Strategy)
    (found,) = await memory.strategies.find("bake some bread")
    assert (found.strategy_id, found.score is not None) == (learnt.strategy_id, True)
    used = await memory.strategies.reinforce(learnt.strategy_id, True, conversation="c-1", note="Fine.")
    assert (used.success_count, used.success_rate > 0) == (1, True)
    assert await memory.strategies.get(learnt.strategy_id) == used
    assert await memory.strategies.list(tool="oven", mined=False) == [used]
    (use,) = await memory.strategies.uses(learnt.strategy_id)
    assert isinstance(use, StrategyUse)
    assert (use.conversation, use.note) == ("c-1", "Fine.")
    await memory.retain({"role": "user", "content": "Bake bread."}, conversation="c-1")
    await memory.conversations.record_tool("c-1", "oven", duration_ms=5.0)
    (counted,) = await memory.strategies.tools(task="bread", since=datetime.now(UTC) - timedelta(days=1))
    assert isinstance(counted, ToolStatistics)
    assert (counted.tool, counted.success_rate, counted.mean_duration_ms) == ("oven", 1, 5)
    ended = await memory.conversations.set_outcome("c-1", "success")
    assert isinstance(ended, Conversation)
    assert ended.metadata == {"outcome": "success"}
    with pytest.raises(NotFoundError):
        await memory.conversations.set_outcome("c-2", "success")


async def test_recall_includes_the_whole_bundle(memory: Any) -> None:
    await memory.retain("Alice bakes bread.")
    goal = await memory.goals.create("Win the bread prize", deadline=DEADLINE)
    await memory.strategies.learn("bake bread", "Let the dough rest.")
    value = await memory.working.set("flour", 500, conversation="c-1")
    asked = {"include": ["goals", "strategies", "profile", "working"], "current_conversation": "c-1"}
    found = await memory.recall("bake bread", **asked)
    assert found.goals == (goal,)
    assert [each.content for each in found.strategies] == ["Let the dough rest."]
    assert isinstance(found.profile, Profile)
    assert found.working.values == (value,)
    assert found.text.startswith("Open goals:\n[due 2030-01-01 00:00 UTC, priority 5] Win the bread prize\n")
    assert "Memories:\n[" in found.text
    plain = await memory.recall("bake bread")
    assert (plain.goals, plain.working, plain.profile, plain.strategies) == (None, None, None, None)
    short = await memory.recall("bake bread", max_tokens=150, **asked)
    assert short.token_count <= 150
    refused = await memory.recall("quantum chromodynamics", **asked)
    assert (refused.refused, refused.goals) == (True, (goal,))
