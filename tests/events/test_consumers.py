"""Consumers: cursors that outlive their readers, and belong to one reader at a time."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.events.consumers import consume, take_consumer
from mnemic.events.log import EventFilter, drop_events
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.event import Event
from tests.events.test_log import age, set_many
from tests.fresh_tenants import OpenMemory, Rows
from tests.waiting import wait_for


async def take(memory: AsyncMemory, count: int, consumer: str = "reader", **options: Any) -> list[str]:
    """The subjects of some events, each marked as seen but the last."""
    subjects: list[str] = []
    async for event in memory.events.subscribe(consumer, **{"start": "beginning", **options}):
        subjects.append(event.subject)
        if len(subjects) == count:
            break
    return subjects


def position_of(rows: Rows, memory: AsyncMemory, consumer: str) -> object:
    return rows.value(
        "SELECT max(position) FROM queue.event_consumers WHERE tenant_id = %s AND name = %s",
        memory.tenant.id,
        consumer,
    )


async def test_an_event_is_seen_when_the_next_one_is_asked_for(memory: AsyncMemory) -> None:
    await set_many(memory, 4)
    assert await take(memory, 2) == ["key 0", "key 1"]
    assert await take(memory, 3) == ["key 1", "key 2", "key 3"], "key 1 was handed out, not seen"


async def test_consumers_are_independent(memory: AsyncMemory) -> None:
    await set_many(memory, 3)
    assert await take(memory, 3, "one") == await take(memory, 3, "two")
    one, two = await memory.events.consumers()
    assert [(one.name, one.position, one.behind), (two.name, two.position, two.behind)] == [
        ("one", 2, 1),
        ("two", 2, 1),
    ]
    assert (one.owner, one.types) == ("alice", None)
    assert [consumer.name for consumer in await memory.events.consumers(after="one")] == ["two"]


async def test_where_a_new_consumer_begins(memory: AsyncMemory, rows: Rows) -> None:
    await set_many(memory, 3)
    assert await take(memory, 1, "from the beginning", start="beginning") == ["key 0"]
    assert await take(memory, 1, "behind a position", start=2) == ["key 2"]
    following = asyncio.create_task(take(memory, 1, "from now on", start="now"))
    await wait_for(lambda: position_of(rows, memory, "from now on") is not None)
    await memory.state.set("new", 1)
    assert await following == ["new"]
    assert await take(memory, 1, "from now on", start="beginning") == ["new"], "it is not new any more"


async def test_of_two_readers_under_one_name_the_older_one_gets_a_conflict(memory: AsyncMemory) -> None:
    await set_many(memory, 3)
    older = memory.events.subscribe("reader", start="beginning")
    assert (await anext(older)).subject == "key 0"
    newer = memory.events.subscribe("reader")
    assert (await anext(newer)).subject == "key 0", "it was not seen yet"
    with pytest.raises(ConflictError, match="another reader took over its name"):
        await anext(older)
    assert [(await anext(newer)).subject for _ in range(2)] == ["key 1", "key 2"]


async def test_many_readers_under_one_name_see_no_event_twice(
    memory: AsyncMemory, tenant_database: TenantDatabase
) -> None:
    """In any interleaving, each event is worked on once, in the transaction that advances the cursor."""
    await set_many(memory, 30)
    done = list[int]()

    async def read_on() -> None:
        reading = await take_consumer(tenant_database, "worker", EventFilter(), start="beginning")
        after = reading.position

        async def work(transaction: Transaction, events: Sequence[Event]) -> None:
            worked.extend(event.position for event in events)

        while True:
            worked: list[int] = []
            try:
                page = await consume(tenant_database, reading, EventFilter(), work, after=after, limit=2)
            except ConflictError:
                return await read_on()
            done.extend(worked)
            after = page.through
            if not page.has_more:
                return None

    await asyncio.gather(*(read_on() for _ in range(3)))
    assert sorted(done) == list(range(1, 31))


async def test_of_two_concurrent_runs_of_one_reader_one_commits(
    memory: AsyncMemory, tenant_database: TenantDatabase
) -> None:
    """The second to commit finds the cursor advanced."""
    await set_many(memory, 2)
    reading = await take_consumer(tenant_database, "worker", EventFilter(), start="beginning")
    both_work = asyncio.Barrier(2)

    async def work(transaction: Transaction, events: Sequence[Event]) -> None:
        await both_work.wait()

    outcomes = await asyncio.gather(
        *(consume(tenant_database, reading, EventFilter(), work, after=0) for _ in range(2)),
        return_exceptions=True,
    )
    assert sorted(isinstance(outcome, ConflictError) for outcome in outcomes) == [False, True]


async def test_failed_work_does_not_advance_the_cursor(
    memory: AsyncMemory, rows: Rows, tenant_database: TenantDatabase
) -> None:
    await set_many(memory, 2)
    reading = await take_consumer(tenant_database, "worker", EventFilter(), start="beginning")

    async def fail(transaction: Transaction, events: Sequence[Event]) -> None:
        await transaction.execute("events.delete_consumer", {"name": "other", "owner": None})
        raise RuntimeError("the work failed")

    await take_consumer(tenant_database, "other", EventFilter(), start="beginning")
    with pytest.raises(RuntimeError):
        await consume(tenant_database, reading, EventFilter(), fail, after=0)
    names = [(consumer.name, consumer.position) for consumer in await memory.scope().events.consumers()]
    assert names == [], "they follow everybody, so alice's memory does not list them"
    left = rows.select(
        "SELECT name, position FROM queue.event_consumers WHERE tenant_id = %s ORDER BY 1", memory.tenant.id
    )
    assert left == [("other", 0), ("worker", 0)]


async def test_replay_reads_again_and_ends_the_present_reader(memory: AsyncMemory) -> None:
    await set_many(memory, 3)
    reader = memory.events.subscribe("reader", start="beginning")
    assert [(await anext(reader)).subject for _ in range(3)] == ["key 0", "key 1", "key 2"]
    await memory.events.replay("reader", 1)
    with pytest.raises(ConflictError):
        await anext(reader)
    assert await take(memory, 2) == ["key 1", "key 2"]
    await memory.events.replay("reader", "beginning")
    assert await take(memory, 1) == ["key 0"]
    await memory.events.replay("reader", "now")
    await memory.state.set("new", 1)
    assert await take(memory, 1) == ["new"]


async def test_a_consumer_whose_events_were_dropped_gets_an_error(
    memory: AsyncMemory, rows: Rows, tenant_database: TenantDatabase
) -> None:
    await set_many(memory, 4)
    assert await take(memory, 2) == ["key 0", "key 1"]
    age(rows, memory, up_to=3, days=31)
    await drop_events(tenant_database, keep_days=30)
    with pytest.raises(NotFoundError, match="after position 1 up to 3 are no longer kept"):
        await take(memory, 1)
    await memory.events.replay("reader", "beginning")
    assert await take(memory, 1) == ["key 3"]


async def test_a_consumer_advances_past_events_that_it_filters_out(memory: AsyncMemory, rows: Rows) -> None:
    await set_many(memory, 3)
    await memory.state.delete("key 0")
    assert await take(memory, 1, types=["state.deleted"]) == ["key 0"]
    following = asyncio.create_task(take(memory, 2, types=["state.deleted"]))
    await memory.state.set("other", 1)
    await wait_for(lambda: position_of(rows, memory, "reader") == 5)
    await memory.state.delete("key 1")
    assert await following == ["key 0", "key 1"]
    assert (await memory.events.consumers())[0].types == ("state.deleted",)


async def test_consumers_of_owners_are_separate(open_memory: OpenMemory) -> None:
    everybody = await open_memory(owner=None)
    alice, bob = everybody.scope(owner="alice"), everybody.scope(owner="bob")
    await alice.state.set("a", 1)
    await bob.state.set("b", 1)
    assert await take(alice, 1, "mine") == ["a"]
    with pytest.raises(ConflictError, match="another owner"):
        await take(bob, 1, "mine")
    with pytest.raises(NotFoundError):
        await bob.events.replay("mine", "beginning")
    assert await bob.events.forget_consumer("mine") is False
    assert [consumer.name for consumer in await bob.events.consumers()] == []
    assert [consumer.name for consumer in await everybody.events.consumers()] == ["mine"]
    assert await alice.events.forget_consumer("mine") is True


async def test_a_deleted_consumer_starts_again_and_an_unknown_one_is_an_error(memory: AsyncMemory) -> None:
    await set_many(memory, 2)
    assert await take(memory, 2) == ["key 0", "key 1"]
    assert await memory.events.forget_consumer("reader") is True
    assert await memory.events.forget_consumer("reader") is False
    assert await take(memory, 1) == ["key 0"]
    with pytest.raises(NotFoundError, match="no consumer 'unknown'"):
        await memory.events.replay("unknown", 0)


async def test_a_bad_start_is_refused_at_once(memory: AsyncMemory, subtests: pytest.Subtests) -> None:
    starts: list[Any] = ["then", -1, 1.5, None, True]
    for start in starts:
        with subtests.test(start=start):
            with pytest.raises(InvalidInputError, match="start"):
                memory.events.subscribe("reader", start=start)
            with pytest.raises(InvalidInputError, match="position"):
                await memory.events.replay("reader", start)


async def test_a_bad_name_is_refused_at_once(memory: AsyncMemory, subtests: pytest.Subtests) -> None:
    names: list[Any] = ["", " ", "x" * 257, 7, "a\nb"]
    for name in names:
        with subtests.test(name=name):
            with pytest.raises(InvalidInputError, match="consumer"):
                memory.events.subscribe(name)
            with pytest.raises(InvalidInputError, match="consumer"):
                await memory.events.replay(name, 0)
            with pytest.raises(InvalidInputError, match="consumer"):
                await memory.events.forget_consumer(name)
