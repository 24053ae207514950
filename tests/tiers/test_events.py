"""Common behaviour of journal, revenue and error events: times, pages, filters, owners, tenants."""

from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.errors import InvalidInputError, NotFoundError, OwnerRequiredError
from mnemic.sdk.memory import AsyncMemory
from mnemic.sql import query
from mnemic.types.tiers import TierEvent
from tests.conftest import AppConnection
from tests.opened import core_of, opened
from tests.two_tenants import CountRows

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Kind:
    """One kind of event, with the same interface as the others."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def append(self, memory: AsyncMemory, **options: Any) -> Coroutine[Any, Any, TierEvent]:
        if self.name == "journal":
            return memory.journal.append(acted="wrote a test", **options)
        if self.name == "revenue":
            return memory.revenue.append(1, "EUR", source="tests", **options)
        return memory.errors.record("Timeout", "it took too long", **options)

    def list(self, memory: AsyncMemory, **options: Any) -> Coroutine[Any, Any, Sequence[TierEvent]]:
        group = {"journal": memory.journal, "revenue": memory.revenue, "errors": memory.errors}[self.name]
        return group.list(**options)  # type: ignore[attr-defined, no-any-return]


KINDS = [Kind("journal"), Kind("revenue"), Kind("errors")]


@pytest.fixture(params=KINDS, ids=repr)
def kind(request: pytest.FixtureRequest) -> Kind:
    assert isinstance(request.param, Kind)
    return request.param


async def test_an_event_has_its_owner_and_time(memory: AsyncMemory, kind: Kind) -> None:
    earlier = datetime.now(UTC)
    event = await kind.append(memory, channel="project")
    assert (event.owner, event.channel, event.process) == ("alice", "project", "sdk")
    assert event.at == event.recorded_at
    assert abs(event.at - earlier) < timedelta(minutes=1)
    assert await kind.list(memory) == [event]


@pytest.mark.parametrize(
    "at",
    [
        NOON,
        NOON.astimezone(timezone(timedelta(hours=9))),
        "2026-03-01T12:00:00Z",
        "2026-03-01T13:00:00+01:00",
    ],
)
async def test_an_event_may_have_happened_before_it_is_recorded(
    memory: AsyncMemory, kind: Kind, at: datetime | str
) -> None:
    event = await kind.append(memory, at=at)
    assert event.at == NOON
    assert event.recorded_at > NOON


async def test_events_are_listed_by_the_time_they_happened(memory: AsyncMemory, kind: Kind) -> None:
    for hours in (2, 0, 1):
        await kind.append(memory, at=NOON + timedelta(hours=hours))
    listed = await kind.list(memory)
    assert [event.at - NOON for event in listed] == [timedelta(hours=hours) for hours in (2, 1, 0)]


async def test_pages_follow_each_other_while_events_are_added(memory: AsyncMemory, kind: Kind) -> None:
    """Many events have the same time, so a cursor by time alone would skip or repeat some."""
    before = [await kind.append(memory, at=NOON + timedelta(hours=number // 4)) for number in range(10)]
    paged: list[TierEvent] = []
    while page := await kind.list(memory, limit=3, before=paged[-1].event_id if paged else None):
        paged += page
        await kind.append(memory, at=NOON + timedelta(days=1))
    assert sorted(event.event_id for event in paged) == sorted(event.event_id for event in before)
    assert [event.at for event in paged] == sorted((event.at for event in before), reverse=True)


async def test_the_window_begins_at_since_and_ends_before_until(memory: AsyncMemory, kind: Kind) -> None:
    first, second, third = [await kind.append(memory, at=NOON + timedelta(hours=hours)) for hours in range(3)]
    assert await kind.list(memory, since=second.at) == [third, second]
    assert await kind.list(memory, until=second.at.isoformat()) == [first]
    assert await kind.list(memory, since=first.at, until=third.at, before=second.event_id) == [first]


async def test_a_list_has_all_channels_unless_one_is_named(memory: AsyncMemory, kind: Kind) -> None:
    for channel in ("_global", "project"):
        await kind.append(memory, channel=channel)
    assert len(await kind.list(memory)) == 2
    assert len(await kind.list(memory.scope(channel="project"))) == 2
    assert [event.channel for event in await kind.list(memory, channel="project")] == ["project"]


async def test_owners_and_tenants_are_isolated(
    memory: AsyncMemory, foreign_memory: AsyncMemory, kind: Kind
) -> None:
    event = await kind.append(memory)
    assert await kind.list(memory, owner="bob") == []
    assert await kind.list(foreign_memory) == []
    with pytest.raises(NotFoundError, match="not in this list"):
        await kind.list(memory, owner="bob", before=event.event_id)
    with pytest.raises(NotFoundError, match="not in this list"):
        await kind.list(foreign_memory, before=str(event.event_id))


async def test_an_event_needs_an_owner(
    database: Database, tenant_a: Tenant, count_rows: CountRows, kind: Kind
) -> None:
    nobody = opened(database, tenant_a, owner=None)
    with pytest.raises(OwnerRequiredError):
        await kind.append(nobody)
    with pytest.raises(OwnerRequiredError):
        await kind.list(nobody)
    assert count_rows() == 0


BAD_CHANNELS_AND_TIMES: list[dict[str, Any]] = [
    {"at": datetime(2026, 3, 1)},
    {"at": "2026-03-01T10:00:00"},
    {"at": "yesterday"},
    {"at": 1_772_000_000},
    {"at": ""},
    {"at": datetime.min.replace(tzinfo=timezone(timedelta(hours=9)))},
    {"owner": ""},
    {"owner": "x" * 257},
    {"owner": 7},
    {"owner": "a\0b"},
    {"channel": "\ud800"},
    {"channel": " "},
    {"channel": ["project"]},
]


async def test_a_bad_channel_or_time_is_refused_and_nothing_is_written(
    memory: AsyncMemory, count_rows: CountRows, subtests: pytest.Subtests
) -> None:
    for bad in BAD_CHANNELS_AND_TIMES:
        with subtests.test(bad=bad):
            (field,) = bad
            for kind in KINDS:
                with pytest.raises(InvalidInputError, match=field):
                    await kind.append(memory, **bad)
            assert count_rows() == 0


BAD_FILTERS: list[dict[str, Any]] = [
    {"since": datetime(2026, 3, 1)},
    {"until": "2026-03-01T10:00:00"},
    {"until": NOON, "since": NOON},
    {"before": "not an id"},
    {"before": 7},
    {"limit": 0},
    {"limit": 1001},
    {"limit": "10"},
    {"limit": True},
    {"channel": ""},
]


async def test_a_bad_filter_is_refused(memory: AsyncMemory, subtests: pytest.Subtests) -> None:
    for bad in BAD_FILTERS:
        with subtests.test(bad=bad):
            for kind in KINDS:
                with pytest.raises(InvalidInputError, match=next(iter(bad))):
                    await kind.list(memory, **bad)


async def test_an_unknown_cursor_is_an_error(memory: AsyncMemory, kind: Kind) -> None:
    await kind.append(memory)
    with pytest.raises(NotFoundError, match="Pass the id of a row of this list"):
        await kind.list(memory, before="018f0000-0000-7000-8000-000000000000")


@pytest.mark.parametrize("table", ["journal_events", "revenue_events", "error_events"])
async def test_a_page_is_read_by_index(memory: AsyncMemory, admin: AppConnection, table: str) -> None:
    """A page of one owner must not scan the events of all owners, nor sort."""
    fields = {
        "journal_events": ("acted", "'1'"),
        "revenue_events": ("amount, currency, source", "1, 'EUR', 'tests'"),
        "error_events": ("kind, message", "'Timeout', 'late'"),
    }
    names, values = fields[table]
    admin.execute(
        f"INSERT INTO state.{table} (tenant_id, owner, channel, process, at, {names})"
        f" SELECT %s, 'owner ' || n %% 50, '_global', 'p', now() - n * interval '1 s', {values}"
        " FROM generate_series(1, 4000) AS n",
        [memory.tenant.id],
    )
    admin.execute(f"ANALYZE state.{table}")
    parameters = {
        **dict.fromkeys(
            ["since", "until", "before_at", "before_id", "channel", "kind", "severity", "currency"]
        ),
        "owner": "owner 7",
        "limit": 20,
        "tenant_id": memory.tenant.id,
    }
    async with core_of(memory).storage.tenant_database.transaction() as transaction:
        cursor = await transaction.connection.execute("EXPLAIN " + query(f"{table}.list"), parameters)
        plan = "\n".join(row["QUERY PLAN"] for row in await cursor.fetchall())
    assert f"Index Scan using {table}_recent" in plan
    assert "Sort" not in plan
