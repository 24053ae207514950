"""Reading the log: no event is missed or read twice, and reads are bounded."""

from contextlib import suppress
from typing import Any

import pytest

from mnemic.db.database import Database, TenantDatabase
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.events import log
from mnemic.events.log import EventFilter, drop_events, read_page
from mnemic.sdk.memory import AsyncMemory
from tests.events.conftest import changes
from tests.fresh_tenants import OpenMemory, Rows

SET_STATE = """
    INSERT INTO state.state_documents (tenant_id, owner, key, document, process)
    VALUES (%(tenant_id)s, 'alice', %(key)s, '1', 'test')
"""


async def set_many(memory: AsyncMemory, count: int) -> None:
    for number in range(count):
        await memory.state.set(f"key {number}", number)


def age(rows: Rows, memory: AsyncMemory, *, up_to: int, days: int) -> None:
    rows.select(
        "UPDATE queue.events SET at = at - make_interval(days => %s)"
        " WHERE tenant_id = %s AND position <= %s RETURNING 1",
        days,
        memory.tenant.id,
        up_to,
    )


async def test_pages_by_position(memory: AsyncMemory) -> None:
    await set_many(memory, 5)
    first = await memory.events.list(limit=2)
    second = await memory.events.list(after=first[-1].position, limit=2)
    third = await memory.events.list(after=second[-1].position, limit=2)
    assert [event.position for event in (*first, *second, *third)] == [1, 2, 3, 4, 5]
    assert await memory.events.list(after=5) == []


async def test_pages_newest_first(open_memory: OpenMemory) -> None:
    memory = await open_memory(owner=None)
    for number in range(3):
        await memory.state.set(f"key {number}", number, owner="alice")
        await memory.state.set(f"key {number}", number, owner="bob")
    await memory.state.delete("key 0", owner="alice")

    async def positions(**options: Any) -> list[int]:
        return [event.position for event in await memory.events.list(order="newest", **options)]

    assert await positions() == [7, 6, 5, 4, 3, 2, 1]
    assert await positions(limit=2) == [7, 6]
    assert await positions(before=6, limit=2) == [5, 4]
    assert await positions(after=3, before=6) == [5, 4]
    assert await positions(owner="bob", before=6) == [4, 2]
    assert await positions(types=["state.deleted"]) == [7]
    assert await positions(types=["state.deleted", "state.created"], before=7, limit=2) == [6, 5]
    assert await positions(types=["state.created"], owner="alice", limit=2) == [5, 3]
    assert [event.position for event in await memory.events.list(after=2, before=5)] == [3, 4]
    with pytest.raises(InvalidInputError, match="order"):
        await memory.events.list(order="last")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="before"):
        await memory.events.list(before=-1)


async def test_the_newest_events_of_a_large_backlog_are_listed(memory: AsyncMemory, rows: Rows) -> None:
    rows.select(
        "INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)"
        " SELECT %s, 'alice', 'state.created', number, '{}'"
        " FROM generate_series(1, 2500) AS number RETURNING 1",
        memory.tenant.id,
    )
    (newest,) = await memory.events.list(order="newest", limit=1)
    assert (newest.position, newest.subject) == (2500, "2500")


async def test_filters_by_type_and_owner(memory: AsyncMemory) -> None:
    everybody = memory.events
    await memory.state.set("a", 1, owner="alice")
    await memory.state.set("b", 1, owner="bob")
    await memory.state.delete("a", owner="alice")
    deleted = await everybody.list(types=["state.deleted", "memory.created"])
    assert changes(deleted) == [("state.deleted", "a")]
    assert changes(await memory.events.list(owner="bob")) == [("state.created", "b")]
    assert [event.owner for event in await everybody.list()] == ["alice", "alice"], "the scope's owner"


async def test_a_memory_without_an_owner_sees_the_events_of_all(open_memory: OpenMemory) -> None:
    memory = await open_memory(owner=None)
    await memory.state.set("a", 1, owner="alice")
    await memory.state.set("b", 1, owner="bob")
    assert [event.owner for event in await memory.events.list()] == ["alice", "bob"]


async def test_a_late_commit_gets_a_position_after_those_read_before(
    memory: AsyncMemory, shared_database: Database
) -> None:
    """The one that began first commits last: a reader that has gone on still gets its event."""
    tenant_id = memory.tenant.id
    async with shared_database.transaction(memory.tenant) as late:
        await late.connection.execute(SET_STATE, {"tenant_id": tenant_id, "key": "late"})
        await memory.state.set("early", 1)
        assert changes(await memory.events.list()) == [("state.created", "early")]
    assert changes(await memory.events.list(after=1)) == [("state.created", "late")]


async def test_a_rolled_back_transaction_publishes_nothing(
    memory: AsyncMemory, shared_database: Database
) -> None:
    values = {"tenant_id": memory.tenant.id, "key": "never"}
    with suppress(RuntimeError):
        async with shared_database.transaction(memory.tenant) as transaction:
            await transaction.connection.execute(SET_STATE, values)
            raise RuntimeError
    await memory.state.set("after", 1)
    events = await memory.events.list()
    assert [(event.subject, event.position) for event in events] == [("after", 1)]


async def test_a_page_scans_a_bounded_number_of_positions(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch, tenant_database: TenantDatabase
) -> None:
    monkeypatch.setattr(log, "PAGE_POSITIONS", 3)
    await set_many(memory, 7)
    await memory.state.delete("key 0")
    wanted = EventFilter(types=["state.deleted"])
    pages, after = [], 0
    while True:
        page = await read_page(tenant_database, wanted, after=after)
        pages.append((len(page.events), page.through, page.has_more))
        after = page.through
        if not page.has_more:
            break
    assert pages == [(0, 3, True), (0, 6, True), (1, 8, False)]


async def test_many_events_are_numbered_in_several_steps(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch, tenant_database: TenantDatabase
) -> None:
    monkeypatch.setattr(log, "SEQUENCE_MAX", 4)
    await set_many(memory, 10)
    positions, after = [], 0
    while True:
        page = await read_page(tenant_database, EventFilter(), after=after)
        positions += [event.position for event in page.events]
        after = page.through
        if not page.has_more:
            break
    assert positions == list(range(1, 11))


async def test_reading_dropped_events_is_an_error(
    memory: AsyncMemory, rows: Rows, tenant_database: TenantDatabase
) -> None:
    await set_many(memory, 5)
    await memory.events.list()
    age(rows, memory, up_to=3, days=31)
    assert await drop_events(tenant_database, keep_days=30) == 3
    assert await drop_events(tenant_database, keep_days=30) == 0
    assert [event.position for event in await memory.events.list()] == [4, 5]
    assert [event.position for event in await memory.events.list(after=3)] == [4, 5]
    with pytest.raises(NotFoundError, match="after position 2 up to 3 are no longer kept"):
        await memory.events.list(after=2)


async def test_dropping_goes_in_bounded_steps_and_includes_unread_events(
    memory: AsyncMemory, rows: Rows, monkeypatch: pytest.MonkeyPatch, tenant_database: TenantDatabase
) -> None:
    monkeypatch.setattr(log, "DROP_MAX", 2)
    monkeypatch.setattr(log, "SEQUENCE_MAX", 3)
    await set_many(memory, 7)
    rows.select(
        "UPDATE queue.event_inbox SET at = at - interval '40 days' WHERE tenant_id = %s RETURNING 1",
        memory.tenant.id,
    )
    assert await drop_events(tenant_database, keep_days=30) == 7
    counts = rows.counts(memory.tenant.id)
    assert (counts.get("queue.events"), counts.get("queue.event_inbox")) == (None, None)
    await memory.state.set("next", 1)
    assert [event.position for event in await memory.events.list()] == [8]


async def test_erasing_an_owner_takes_its_events_and_leaves_the_others(open_memory: OpenMemory) -> None:
    memory = await open_memory(owner=None)
    await memory.state.set("a", 1, owner="alice")
    await memory.state.set("b", 1, owner="bob")
    await memory.events.list()
    await memory.state.set("a", 2, owner="alice")
    receipt = await memory.admin.erase("alice")
    assert (receipt.rows["queue.events"], receipt.rows["queue.event_inbox"]) == (1, 1)
    await memory.state.set("c", 1, owner="bob")
    assert [(event.owner, event.position) for event in await memory.events.list(after=0)] == [
        ("bob", 2),
        ("bob", 3),
    ]


BAD_INPUT: list[tuple[dict[str, Any], str]] = [
    ({"after": -1}, "after"),
    ({"after": "1"}, "after"),
    ({"after": True}, "after"),
    ({"after": 2**70}, "after"),
    ({"limit": 0}, "limit"),
    ({"types": ["memory.invented"]}, "types"),
    ({"types": []}, "types"),
    ({"types": "memory.created"}, "types"),
    ({"types": [1]}, "types"),
    ({"owner": ""}, "owner"),
]


async def test_bad_input_is_named(memory: AsyncMemory, subtests: pytest.Subtests) -> None:
    for arguments, field in BAD_INPUT:
        with subtests.test(arguments=arguments), pytest.raises(InvalidInputError, match=field):
            await memory.events.list(**arguments)


async def test_retention_keeps_at_least_a_day(memory: AsyncMemory, tenant_database: TenantDatabase) -> None:
    with pytest.raises(InvalidInputError, match="at least 1 day"):
        await drop_events(tenant_database, keep_days=0)
