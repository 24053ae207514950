"""Conversations: order of turns, times, tool calls."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from tests.fresh_tenants import Rows, contents

MONDAY = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)


async def test_turns_come_back_in_the_order_in_which_they_were_said(memory: AsyncMemory) -> None:
    said = [
        {"role": "user" if number % 2 else "assistant", "content": f"turn {number}"} for number in range(40)
    ]
    await memory.retain(said[:25], conversation="c")
    await memory.retain(said[25:], conversation="c")
    turns = await memory.conversations.turns("c")
    assert [(turn.position, turn.role, turn.content) for turn in turns] == [
        (number, turn["role"], turn["content"]) for number, turn in enumerate(said)
    ]
    assert contents(await memory.conversations.turns("c", from_position=38)) == ["turn 38", "turn 39"]
    assert contents(await memory.conversations.turns("c", limit=2)) == ["turn 0", "turn 1"]


async def test_a_call_may_hold_turns_of_several_conversations(memory: AsyncMemory) -> None:
    items = [
        {"content": f"{name} {number}", "conversation": name} for number in range(3) for name in ("x", "y")
    ]
    await memory.retain([*items, "no turn"])
    assert contents(await memory.conversations.turns("x")) == ["x 0", "x 1", "x 2"]
    assert contents(await memory.conversations.turns("y")) == ["y 0", "y 1", "y 2"]
    assert [found.turn_count for found in await memory.conversations.list()] == [3, 3]


async def test_a_conversation_has_its_first_and_last_time(memory: AsyncMemory) -> None:
    await memory.retain(
        {"content": "later", "at": MONDAY + timedelta(hours=1)}, conversation="c", channel="work"
    )
    await memory.retain({"content": "earlier", "at": MONDAY}, conversation="c")
    found = await memory.conversations.get("c")
    assert (found.started_at, found.last_turn_at) == (MONDAY, MONDAY + timedelta(hours=1))
    assert (found.owner, found.channel, found.turn_count, found.archived_at) == ("alice", "work", 2, None)


async def test_recent_turns_of_a_conversation_are_in_order(memory: AsyncMemory) -> None:
    """Ids of turns are made before their positions are reserved, so their order may differ."""
    await asyncio.gather(
        *(
            memory.retain([f"{writer} a", f"{writer} b", f"{writer} c"], conversation="c")
            for writer in range(16)
        )
    )
    turns = await memory.conversations.turns("c")
    assert [turn.position for turn in turns] == list(range(48))
    assert contents(await memory.conversations.recent(conversation="c", limit=20)) == contents(turns)[-20:]
    for start in range(0, 48, 3):
        writer = turns[start].content.split()[0]
        assert contents(turns[start : start + 3]) == [f"{writer} a", f"{writer} b", f"{writer} c"]


async def test_recent_turns_of_all_conversations(memory: AsyncMemory) -> None:
    await memory.retain(["a", "b"], conversation="x")
    await memory.retain("no turn")
    await memory.retain("c", conversation="y")
    assert contents(await memory.conversations.recent()) == ["a", "b", "c"]
    assert contents(await memory.conversations.recent(limit=2)) == ["b", "c"]
    assert await memory.conversations.recent(conversation="unknown") == []


async def test_forgotten_turns_are_left_out_and_keep_their_position(memory: AsyncMemory) -> None:
    first, second, _ = (await memory.retain(["a", "b", "c"], conversation="c")).memory_ids
    await memory.memories.forget(second)
    assert contents(await memory.conversations.turns("c")) == ["a", "c"]
    await memory.retain("d", conversation="c")
    assert [turn.position for turn in await memory.conversations.turns("c")] == [0, 2, 3]
    assert (await memory.memories.get(first)).position == 0


async def test_conversations_are_listed_latest_first(memory: AsyncMemory) -> None:
    for number, name in enumerate(["old", "new", "newest"]):
        await memory.retain(
            {"content": name, "at": MONDAY + timedelta(days=number)}, conversation=name, channel=name
        )
    assert [found.conversation for found in await memory.conversations.list()] == ["newest", "new", "old"]
    page = await memory.conversations.list(limit=1)
    after = await memory.conversations.list(before=page[-1].last_turn_at)
    assert [found.conversation for found in after] == ["new", "old"]
    assert [found.conversation for found in await memory.conversations.list(channel="new")] == ["new"]


async def test_owners_have_conversations_of_their_own(memory: AsyncMemory) -> None:
    await memory.retain("mine", conversation="c")
    await memory.retain("his", conversation="c", owner="bob")
    assert contents(await memory.conversations.turns("c", owner="bob")) == ["his"]
    assert (await memory.conversations.get("c")).turn_count == 1
    with pytest.raises(NotFoundError):
        await memory.conversations.get("c", owner="carol")


async def test_a_tool_that_was_called_is_recorded_with_its_turn(memory: AsyncMemory) -> None:
    (turn,) = (await memory.retain("Let me look.", conversation="c", role="assistant")).memory_ids
    first = await memory.conversations.record_tool(
        "c",
        "search",
        arguments={"query": "ä", "deep": [1, None]},
        result="three hits",
        duration_ms=12.5,
        at=MONDAY,
        memory_id=turn,
    )
    second = await memory.conversations.record_tool("c", "fetch", succeeded=False)
    assert (
        first.tool,
        first.arguments,
        first.result,
        first.succeeded,
        first.duration_ms,
        first.at,
        first.memory_id,
    ) == (
        "search",
        {"query": "ä", "deep": [1, None]},
        "three hits",
        True,
        12.5,
        MONDAY,
        turn,
    )
    assert list(await memory.conversations.tools("c")) == [first, second]
    assert await memory.conversations.tools("other") == []


async def test_a_tool_belongs_to_a_turn_of_its_conversation(memory: AsyncMemory) -> None:
    await memory.retain("a", conversation="c")
    (elsewhere,) = (await memory.retain("b", conversation="d")).memory_ids
    (fact,) = (await memory.retain("c")).memory_ids
    for memory_id in (elsewhere, fact, uuid4()):
        with pytest.raises(NotFoundError):
            await memory.conversations.record_tool("c", "search", memory_id=memory_id)
    with pytest.raises(NotFoundError):
        await memory.conversations.record_tool("unknown", "search")
    assert await memory.conversations.tools("c") == []


BAD_TOOLS: list[tuple[dict[str, Any], str]] = [
    ({"tool": ""}, "tool must have 1 to 256"),
    ({"tool": "search", "arguments": 5}, "arguments must be a mapping"),
    ({"tool": "search", "arguments": "abc"}, "arguments must be a mapping"),
    ({"tool": "search", "arguments": {"a": object()}}, "arguments must be JSON"),
    ({"tool": "search", "result": "a\0"}, "result must not contain NUL"),
    ({"tool": "search", "result": 5}, "result must be text"),
    ({"tool": "search", "succeeded": "yes"}, "succeeded must be True or False"),
    ({"tool": "search", "duration_ms": -1}, "duration_ms must be 0 or more"),
    ({"tool": "search", "duration_ms": "fast"}, "duration_ms must be a number"),
    ({"tool": "search", "at": "2026-03-02T10:00:00"}, "at has no time zone"),
    ({"tool": "search", "memory_id": "x"}, "memory_id must be an id"),
]


async def test_a_bad_tool_is_refused_and_nothing_is_written(
    memory: AsyncMemory, rows: Rows, subtests: pytest.Subtests
) -> None:
    await memory.retain("a", conversation="c")
    before = rows.counts(memory.tenant.id)
    for arguments, message in BAD_TOOLS:
        with subtests.test(message):
            with pytest.raises(InvalidInputError, match=message):
                await memory.conversations.record_tool("c", **arguments)
            assert rows.counts(memory.tenant.id) == before


@pytest.mark.parametrize("place", [-1, "0", 1.5, None, 2**31], ids=repr)
async def test_invalid_positions_are_refused(memory: AsyncMemory, place: Any) -> None:
    with pytest.raises(InvalidInputError, match="from_position must be a whole number"):
        await memory.conversations.turns("c", from_position=place)
