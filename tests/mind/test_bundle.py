"""`recall(…, include=…)`: goals, working memory, profile and strategies, in fields and in the text."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemic.errors import InvalidInputError
from mnemic.mind import bundle_text
from mnemic.models.tokens import count_tokens
from mnemic.sdk.memory import AsyncMemory

ALL: Any = ["goals", "strategies", "profile", "working"]


async def fill(memory: AsyncMemory) -> None:
    await memory.retain("Alice plays the cello.")
    await memory.retain("My name is Alice and I live in Berlin.", category="factual")
    await memory.retain({"role": "user", "content": "Find me a cello teacher."}, conversation="c-1")
    goal = await memory.goals.create("Give a cello concert", deadline="2030-01-01", priority=9)
    tickets = await memory.goals.create("Sell tickets", blocked_by=[goal.goal_id])
    await memory.goals.create("Tune the cello", deadline=datetime.now(UTC) - timedelta(days=1))
    done = await memory.goals.create("Buy a cello")
    await memory.goals.update(done.goal_id, status="completed")
    assert tickets.status == "blocked"
    await memory.working.set_active_goal(goal.goal_id, conversation="c-1")
    await memory.working.set("hall", {"seats": 90}, conversation="c-1")
    await memory.working.add_thought("Ask about the acoustics.", conversation="c-1")
    await memory.strategies.learn("find a cello teacher", "Ask the school.", tools=["call"], succeeded=True)
    await memory.strategies.learn(
        "find a cello teacher", "Search the web.", succeeded=False, note="Only advertisements."
    )


async def test_everything_comes_in_one_call(memory: AsyncMemory) -> None:
    await fill(memory)
    found = await memory.recall("cello teacher", include=ALL, current_conversation="c-1")
    assert [goal.content for goal in found.goals or ()] == [
        "Tune the cello",
        "Give a cello concert",
        "Sell tickets",
    ]
    assert found.working is not None
    assert found.working.goal is not None
    assert [value.key for value in found.working.values] == ["hall"]
    assert [thought.content for thought in found.working.thoughts] == ["Ask about the acoustics."]
    assert [turn.content for turn in found.working.turns] == ["Find me a cello teacher."]
    assert found.profile is not None
    assert found.profile.sections
    assert [each.is_warning for each in found.strategies or ()] == [False, True]
    places = [
        found.text.index(part)
        for part in (
            "Open goals:\n[overdue since ",
            "[due 2030-01-01 00:00 UTC, priority 9] Give a cello concert",
            "[priority 5, blocked] Sell tickets",
            "Working memory:\n[active goal] Give a cello concert",
            '[value] hall: {"seats": 90}',
            "[thought] Ask about the acoustics.",
            "[turn] user: Find me a cello teacher.",
            "What is known about the owner:",
            "Strategies:\n[worked 1 of 1 times] find a cello teacher: Ask the school. (tools: call)",
            "[warning: failed 1 of 1 times] find a cello teacher: Search the web.\n"
            "  It failed: Only advertisements.",
            "Memories:\n[",
        )
    ]
    assert places == sorted(places)
    assert "Buy a cello" not in found.text.partition("Memories:")[0]
    assert found.token_count == pytest.approx(count_tokens(found.text), abs=12)


async def test_what_is_not_asked_for_is_not_there(memory: AsyncMemory) -> None:
    await fill(memory)
    plain = await memory.recall("cello teacher")
    assert (plain.goals, plain.working, plain.profile, plain.strategies) == (None, None, None, None)
    assert "Open goals" not in plain.text
    some = await memory.recall("cello teacher", include=["goals", "neighbours"])
    assert (some.goals is not None, some.working, some.strategies) == (True, None, None)
    assert [hit.memory.memory_id for hit in some] == [hit.memory.memory_id for hit in plain]
    # A goal that is shown above is not repeated among the memories, but it is a hit.
    assert "Give a cello concert" in {hit.memory.content for hit in some}
    assert some.text.count("Give a cello concert") == plain.text.count("Give a cello concert") == 1
    with pytest.raises(InvalidInputError, match="include"):
        await memory.recall("cello", include=["gaols"])  # type: ignore[list-item]


async def test_a_refusal_has_what_was_included(memory: AsyncMemory) -> None:
    empty = await memory.recall("anything", include=ALL)
    assert (empty.refused, empty.goals, empty.strategies, empty.text) == (True, (), (), "")
    await fill(memory)
    for max_tokens in (None, 500):
        found = await memory.recall(
            "quantum chromodynamics", include=ALL, current_conversation="c-1", max_tokens=max_tokens
        )
        assert (found.refused, found.hits, len(found.goals or ())) == (True, (), 3)
        assert "Give a cello concert" in found.text
        assert "Memories:" not in found.text


async def test_the_text_stays_within_the_budget(memory: AsyncMemory) -> None:
    await fill(memory)
    for number in range(30):
        await memory.goals.create(f"Practise piece number {number} on the cello", deadline="2030-02-01")
        await memory.working.add_thought(f"Thought {number} about the cello", conversation="c-1")
    for max_tokens in (1, 20, 60, 200, 1_000):
        found = await memory.recall(
            "cello teacher", include=ALL, current_conversation="c-1", max_tokens=max_tokens
        )
        assert count_tokens(found.text) <= max_tokens
        assert found.token_count <= max_tokens
        assert any("goals did not fit" in note for note in found.notes)
    # The newest thoughts get room first, in their order.
    assert "Thought 29" in found.text
    thoughts = [line for line in found.text.splitlines() if line.startswith("[thought]")]
    assert thoughts == sorted(thoughts, key=lambda line: int(line.split()[2]))
    # At least the rest of the budget is for the hits.
    assert sum(bundle_text.SHARES.values()) == pytest.approx(0.75)
    assert "Memories:" in found.text


async def test_goals_and_working_memory_are_those_of_the_channels(memory: AsyncMemory) -> None:
    await memory.goals.create("Here")
    await memory.goals.create("There", channel="x")
    await memory.working.set("place", "here")
    await memory.working.set("place", "there", channel="x")
    here = await memory.recall("what", include=["goals", "working"])
    there = await memory.recall("what", include=["goals", "working"], channel="x")
    assert [goal.content for goal in here.goals or ()] == ["Here"]
    assert [goal.content for goal in there.goals or ()] == ["Here", "There"]
    assert here.working is not None
    assert there.working is not None
    assert (here.working.values[0].value, there.working.values[0].value) == ("here", "there")


async def test_earlier_states_are_not_known(memory: AsyncMemory) -> None:
    await fill(memory)
    found = await memory.recall("cello", include=ALL, as_of=datetime.now(UTC))
    assert (found.goals, found.working, found.strategies) == (None, None, None)
    assert found.profile is not None
    assert any("left out with as_of" in note for note in found.notes)


async def test_the_conversation_of_the_filter_is_the_current_one_unless_another_is_named(
    memory: AsyncMemory,
) -> None:
    await fill(memory)
    found = await memory.recall("teacher", include=["working"], conversation="c-1")
    assert found.working is not None
    assert found.working.conversation == "c-1"
    other = await memory.recall(
        "teacher", include=["working"], conversation="c-1", current_conversation="c-2"
    )
    assert other.working is not None
    assert (other.working.conversation, other.working.values) == ("c-2", ())
