"""Consumers work the same on every transport: one reader at a time, events in order.

Consumer names are unique in the tenant, so each test uses the name of its owner, which URLs must escape.
"""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.sdk.http import event_stream
from mnemic.types.event import Event, EventConsumer, EventReading
from tests.waiting import wait_for_async


async def set_many(memory: Any, *keys: str) -> None:
    for key in keys:
        await memory.state.set(key, 1)


async def subjects(memory: Any, consumer: str, count: int, **options: Any) -> list[str]:
    """The subjects of `count` events; all but the last are marked as processed."""
    seen: list[str] = []
    async with aclosing(memory.events.subscribe(consumer, start="beginning", **options)) as events:
        async for event in events:
            seen.append(event.subject)
            if len(seen) == count:
                break
    return seen


async def test_the_position_is_stored_when_the_next_event_is_requested(memory: Any, owner: str) -> None:
    await set_many(memory, "one", "two", "three", "four")
    assert await subjects(memory, owner, 2) == ["one", "two"]
    assert await subjects(memory, owner, 3) == ["two", "three", "four"], "two is not marked yet"
    (consumer,) = await memory.events.consumers()
    first, *_ = await memory.events.list()
    assert (consumer.name, consumer.owner, consumer.types) == (owner, owner, None)
    assert (await memory.events.list(after=consumer.position))[0].subject == "four"
    await memory.events.replay(owner, first.position)
    assert await subjects(memory, owner, 1) == ["two"]
    assert await memory.events.forget_consumer(owner) is True
    assert await subjects(memory, owner, 1, types=["state.created"]) == ["one"]


async def test_a_waiting_subscriber_gets_new_events(memory: Any, owner: str) -> None:
    seen = asyncio.create_task(subjects(memory, owner, 2))
    for number in range(2):
        await memory.state.set(f"key {number}", 1)
    assert await seen == ["key 0", "key 1"]


async def test_the_older_of_two_readers_gets_a_conflict(memory: Any, owner: str) -> None:
    await set_many(memory, "one", "two", "three")
    async with (
        aclosing(memory.events.subscribe(owner, start="beginning")) as older,
        aclosing(memory.events.subscribe(owner)) as newer,
    ):
        assert (await anext(older)).subject == "one"
        assert (await anext(newer)).subject == "one", "one is not marked yet"
        with pytest.raises(ConflictError, match="another reader took over its name"):
            await anext(older)
        assert [(await anext(newer)).subject for _ in range(2)] == ["two", "three"]


async def test_a_waiting_older_reader_gets_a_conflict(
    memory: Any, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "RECHECK_AFTER_S", 0.0)
    await set_many(memory, "one")
    async with (
        aclosing(memory.events.subscribe(owner, start="beginning")) as older,
        aclosing(memory.events.subscribe(owner)) as newer,
    ):
        assert (await anext(older)).subject == "one"
        waiting = asyncio.ensure_future(anext(older))
        (event,) = await memory.events.list()
        await wait_for_async(lambda: is_at(memory, event.position))
        (consumer,) = await memory.events.consumers()
        next_one = asyncio.ensure_future(anext(newer))
        await wait_for_async(lambda: has_changed(memory, consumer))
        await set_many(memory, "two")
        assert (await next_one).subject == "two"
        with pytest.raises(ConflictError):
            await waiting


async def test_a_replay_ends_the_current_reader(memory: Any, owner: str) -> None:
    await set_many(memory, "one", "two")
    async with aclosing(memory.events.subscribe(owner, start="beginning")) as reader:
        assert (await anext(reader)).subject == "one"
        await memory.events.replay(owner, "beginning")
        with pytest.raises(ConflictError):
            await anext(reader)
    assert await subjects(memory, owner, 2) == ["one", "two"]
    with pytest.raises(NotFoundError, match="no consumer"):
        await memory.events.replay(f"not {owner}", 0)


async def test_a_failed_handler_gets_the_event_again(memory: Any, owner: str) -> None:
    await set_many(memory, "one", "two")
    seen: list[str] = []

    def fail_at_two(event: Event) -> None:
        seen.append(event.subject)
        if event.subject == "two":
            raise RuntimeError("no twos")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="no twos"):
            await memory.events.on(fail_at_two, consumer=owner, start="beginning")
    assert seen == ["one", "two", "two"]


async def test_a_consumer_of_another_owner_cannot_be_taken(memory: Any, owner: str) -> None:
    await set_many(memory, "one", "two")
    assert await subjects(memory, owner, 1) == ["one"]
    other = memory.scope(owner=f"friend of {owner}")
    with pytest.raises(ConflictError, match="another owner"):
        await subjects(other, owner, 1)
    assert await subjects(other, owner, 1, owner=owner) == ["one"], "naming the owner is allowed"
    assert await other.events.forget_consumer(owner) is False


async def test_a_consumer_is_taken_and_moved_without_subscribing(memory: Any, owner: str) -> None:
    await set_many(memory, "one", "two")
    reading = await memory.events.take_consumer(owner, start="beginning")
    assert isinstance(reading, EventReading)
    assert (reading.consumer, reading.owner) == (owner, owner)
    first, second = await memory.events.list(after=reading.position)
    held = {"reader": reading.reader, "expected": reading.position}
    for _ in range(2):
        await memory.events.move_consumer(owner, **held, position=first.position)
    with pytest.raises(ConflictError, match="were not marked as seen"):
        await memory.events.move_consumer(owner, **held, position=second.position)
    held["expected"] = first.position
    with pytest.raises(InvalidInputError, match="position must not be below expected"):
        await memory.events.move_consumer(owner, **held, position=reading.position)
    with pytest.raises(ConflictError):
        await memory.scope(owner="other").events.move_consumer(owner, **held, position=second.position)
    await memory.events.take_consumer(owner)
    with pytest.raises(ConflictError):
        await memory.events.move_consumer(owner, **held, position=second.position)
    assert await subjects(memory, owner, 1) == ["two"]


@pytest.mark.parametrize(
    ("name", "named", "field"),
    [
        ("", {}, "consumer"),
        ("a\nb", {}, "consumer"),
        ("a name", {"start": "then"}, "start"),
        ("a name", {"start": -1}, "start"),
        ("a name", {"types": ["memory.exploded"]}, "types"),
    ],
)
async def test_invalid_subscriptions_fail_before_anything_is_written(
    memory: Any, name: str, named: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInputError, match=field):
        await anext(memory.events.subscribe(name, **named))
    with pytest.raises(InvalidInputError, match=field):
        await memory.events.take_consumer(name, **named)
    assert await memory.events.consumers() == []


@pytest.mark.parametrize(
    ("given", "field"),
    [({"reader": "x"}, "reader"), ({"expected": -1}, "expected"), ({"position": True}, "position")],
)
async def test_invalid_moves_are_errors(memory: Any, given: dict[str, Any], field: str) -> None:
    right = {"reader": "019a8f2e-6c00-7abc-8def-0123456789ab", "expected": 0, "position": 1}
    with pytest.raises(InvalidInputError, match=field):
        await memory.events.move_consumer("a name", **(right | given))


async def is_at(memory: Any, position: int) -> bool:
    return bool((await memory.events.consumers())[0].position == position)


async def has_changed(memory: Any, before: EventConsumer) -> bool:
    """Whether a reader has taken or moved the consumer."""
    return bool(await memory.events.consumers() != [before])
