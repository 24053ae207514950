"""`memory.context(session)` and `memory.contexts` are the same on every transport."""

from typing import Any

import pytest

from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.types.context import (
    AdmittedObject,
    AssembledContext,
    ClosedContext,
    ContextAnswer,
    ContextEvent,
    ContextObject,
    ContextObjectText,
    ContextPressure,
    ContextSession,
    RestoredContext,
)

SESSION = "a/b ü ?#1"
TEXT = "\n".join(f"line {number}: value_{number} = {number * 7}" for number in range(300))


async def test_a_session_is_filled_asked_looked_at_and_closed(memory: Any, owner: str) -> None:
    context = memory.context(SESSION)
    first = await context.admit(TEXT, tool="read", key="src/ä b.py", tags=["code"], type="file")
    assert isinstance(first, AdmittedObject)
    assert (first.level, first.text, first.key) == (0, TEXT, "src/ä b.py#1")
    second = await context.admit("short", key="b", pinned=True)
    await context.relate(second.key, first.key, relation="mentions")
    assembled = await context.assemble(budget_tokens=50_000)
    assert isinstance(assembled, AssembledContext)
    assert [item.key for item in assembled.objects] == [second.key, first.key]
    assert isinstance(await context.pressure(), ContextPressure)
    answer = await context.query("value_123", object="src/ä b.py")
    assert isinstance(answer, ContextAnswer)
    assert f"value_123 = {123 * 7}" in answer.text
    restored = await context.restore("src/ä b.py")
    assert isinstance(restored, RestoredContext)
    assert restored.texts == {first.key: TEXT}
    pinned = await context.pin(first.key)
    assert isinstance(pinned, ContextObject)
    assert (pinned.is_pinned, pinned.tags, pinned.fault_count) == (True, ("code",), 2)
    assert (await context.unpin(first.key)).is_pinned is False
    objects = await context.objects()
    assert [item.key for item in objects] == [first.key, second.key]
    assert await context.objects(after=first.key, limit=1) == objects[1:]
    found = await context.get(first.key)
    assert isinstance(found, ContextObjectText)
    assert found.related == ((second.key, first.key, "mentions"),)
    events = await context.history()
    assert all(isinstance(event, ContextEvent) for event in events)
    assert [event.kind for event in events] == ["admission", "request"] * 2 + ["fault"] * 2
    assert await context.history(kinds=["fault"], after=events[4].event_id) == events[5:]
    closed = await context.close()
    assert isinstance(closed, ClosedContext)
    assert len(closed.memory_ids) == 2
    summary = await context.summary()
    assert isinstance(summary, ContextSession)
    assert (summary.session, summary.owner, summary.fault_count) == (SESSION, owner, 2)
    assert await memory.contexts.list(is_open=False) == [summary]
    assert await context.delete() is True
    assert await memory.contexts.list() == []


async def test_errors_are_the_same(memory: Any) -> None:
    with pytest.raises(InvalidInputError, match="session must have"):
        memory.context(" ")
    context = memory.context("none")
    for call in (context.summary, context.assemble, context.close, context.objects):
        with pytest.raises(NotFoundError, match="no context session 'none'"):
            await call()
    with pytest.raises(InvalidInputError, match="content must not be empty"):
        await context.admit("")
