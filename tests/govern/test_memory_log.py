"""The memory log: levels, days as partitions, many writers on a new day, and who may touch it."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from psycopg import errors as pg

from mnemic.config import Settings
from mnemic.db.database import TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.govern.memory_log import list_calls, log_read, log_write
from mnemic.sql import query
from mnemic.types.scope import Scope
from mnemic.types.traces import LogEntry, LoggedCall, LogLevel
from tests.conftest import AppConnection, ConnectAs
from tests.govern.conftest import ALICE, BOB
from tests.many_writers import WRITERS

ENTRY = LogEntry(
    operation="retain",
    owner="alice",
    channel="_global",
    process="tests",
    memory_count=3,
    conversation="c-1",
    duration_ms=1.5,
    detail={"duplicates": 1},
    payload={"content": "Alice moved to Berlin."},
)
# Far enough ahead that no partition was made for it yet.
NEW_DAY = datetime.now(UTC).replace(hour=12) + timedelta(days=30)
PARTITIONS_MADE = 8


@pytest.fixture
def own_database() -> bool:
    """Yes: the tests look at a whole database."""
    return True


async def write(place: TenantDatabase, entry: LogEntry = ENTRY, *, level: LogLevel = "writes") -> None:
    async with place.transaction() as transaction:
        await log_write(transaction, level, entry)


async def write_and_undo(place: TenantDatabase, entry: LogEntry) -> None:
    async with place.transaction() as transaction:
        await log_write(transaction, "writes", entry)
        raise ZeroDivisionError


async def calls(place: TenantDatabase, scope: Scope = ALICE, **options: Any) -> list[LoggedCall]:
    wanted: dict[str, Any] = {"operation": None, "since": None, "until": None, "before": None, "limit": 100}
    return await list_calls(place, scope, **(wanted | options))


def partitions(admin: AppConnection) -> list[str]:
    found = admin.execute(
        "SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid"
        " WHERE inhparent = 'traces.memory_log'::regclass ORDER BY relname"
    )
    return [str(name) for (name,) in found]


async def test_a_call_is_one_row_with_all_that_it_said(place_a: TenantDatabase) -> None:
    earlier = datetime.now(UTC)
    await write(place_a)
    (call,) = await calls(place_a)
    assert (call.operation, call.memory_count, call.duration_ms) == ("retain", 3, 1.5)
    assert (call.owner, call.channel, call.process, call.conversation) == ("alice", "_global", "tests", "c-1")
    assert call.detail == {"duplicates": 1}
    assert earlier - timedelta(seconds=5) < call.logged_at < earlier + timedelta(minutes=1)


@pytest.mark.parametrize(
    ("level", "logged"),
    [
        ("off", []),
        ("writes", ["write"]),
        ("reads", ["write", "read"]),
        ("verbose", ["write", "read"]),
    ],
)
async def test_the_level_decides_what_is_kept(
    place_a: TenantDatabase, level: LogLevel, logged: list[str]
) -> None:
    async with place_a.transaction() as transaction:
        await log_write(transaction, level, replace(ENTRY, operation="write"))
        await log_read(transaction, level, replace(ENTRY, operation="read"))
    kept = await calls(place_a)
    assert [call.operation for call in reversed(kept)] == logged
    assert all(("payload" in call.detail) == (level == "verbose") for call in kept)


async def test_verbose_keeps_what_was_asked_and_answered(place_a: TenantDatabase) -> None:
    await write(place_a, level="verbose")
    (call,) = await calls(place_a)
    assert call.detail == {"duplicates": 1, "payload": {"content": "Alice moved to Berlin."}}


def test_the_setting_knows_the_same_levels_and_writes_is_the_default() -> None:
    setting = Settings.model_fields["memory_log"]
    assert get_args(setting.annotation) == get_args(LogLevel)
    assert setting.default == "writes"


async def test_a_call_that_is_undone_is_not_logged(place_a: TenantDatabase) -> None:
    await write(place_a)
    with pytest.raises(ZeroDivisionError):
        await write_and_undo(place_a, ENTRY)
    assert len(await calls(place_a)) == 1


async def test_the_first_writers_of_a_new_day_all_succeed(
    wide_a: TenantDatabase, admin: AppConnection
) -> None:
    assert partitions(admin) == []
    together = asyncio.Barrier(WRITERS)

    async def first_of_the_day(number: int) -> None:
        async with wide_a.transaction() as transaction:
            await together.wait()
            await log_write(transaction, "writes", replace(ENTRY, memory_count=number, logged_at=NEW_DAY))

    await asyncio.gather(*(first_of_the_day(number) for number in range(WRITERS)))
    assert sorted(call.memory_count for call in await calls(wide_a)) == list(range(WRITERS))
    assert len(partitions(admin)) == PARTITIONS_MADE
    assert partitions(admin)[0] == f"memory_log_{NEW_DAY:%Y%m%d}"


async def test_a_writer_that_undoes_the_new_day_leaves_it_to_the_next(place_a: TenantDatabase) -> None:
    with pytest.raises(ZeroDivisionError):
        await write_and_undo(place_a, replace(ENTRY, logged_at=NEW_DAY))
    await write(place_a, replace(ENTRY, logged_at=NEW_DAY))
    assert len(await calls(place_a)) == 1


async def test_nobody_else_waits_for_the_one_that_makes_a_day(wide_a: TenantDatabase) -> None:
    """While one transaction has made a new day and not committed, others read and write the known days."""
    await write(wide_a)
    async with wide_a.transaction() as transaction:
        await log_write(transaction, "writes", replace(ENTRY, logged_at=NEW_DAY))
        await write(wide_a)
        assert len(await calls(wide_a)) == 2


async def test_every_partition_is_behind_the_tenants_wall(
    place_a: TenantDatabase, tenant_b: Tenant, admin: AppConnection, connect_as: ConnectAs
) -> None:
    await write(place_a)
    assert admin.execute(query("doctor.unprotected_tables")).fetchall() == []
    stranger = connect_as(tenant_b)
    for partition in partitions(admin):
        assert stranger.execute(f"SELECT FROM traces.{partition}").fetchall() == []


@pytest.mark.parametrize("session_zone", ["UTC", "Asia/Tokyo"])
async def test_days_begin_at_midnight_utc_wherever_the_writer_is(
    place_a: TenantDatabase, admin: AppConnection, session_zone: str
) -> None:
    midnight = NEW_DAY.replace(hour=0, minute=0, second=0, microsecond=0)
    async with place_a.transaction() as transaction:
        await transaction.connection.execute("SELECT set_config('timezone', %s, true)", [session_zone])
        await log_write(transaction, "writes", replace(ENTRY, logged_at=midnight - timedelta(microseconds=1)))
        await log_write(transaction, "writes", replace(ENTRY, logged_at=midnight))
    rows = admin.execute(
        "SELECT tableoid::regclass::text FROM traces.memory_log ORDER BY logged_at"
    ).fetchall()
    days = [midnight - timedelta(days=1), midnight]
    assert rows == [(f"traces.memory_log_{day:%Y%m%d}",) for day in days]


FAULTY_ENTRIES: list[dict[str, Any]] = [
    {"memory_count": -1},
    {"operation": ""},
    {"duration_ms": -1.0},
    {"owner": "x" * 257},
    {"detail": {"x": object()}},
    {"detail": {"x": "\ud800"}},
    {"detail": {"x": "\0"}},
    {"logged_at": NEW_DAY + timedelta(days=4000)},
    {"logged_at": NEW_DAY - timedelta(days=4000)},
]


async def test_a_faulty_entry_is_an_error_and_leaves_nothing(
    place_a: TenantDatabase, admin: AppConnection, subtests: pytest.Subtests
) -> None:
    await write(place_a)
    days = partitions(admin)
    for fault in FAULTY_ENTRIES:
        with subtests.test(fault=fault):
            with pytest.raises(InvalidInputError):
                await write(place_a, replace(ENTRY, **fault))
            assert len(await calls(place_a)) == 1
            assert partitions(admin) == days


async def test_pages_follow_each_other_without_gap_or_repetition(place_a: TenantDatabase) -> None:
    for number in range(7):
        logged_at = datetime.now(UTC) + timedelta(days=number % 3)
        await write(place_a, replace(ENTRY, memory_count=number, logged_at=logged_at))
    everything = await calls(place_a)
    paged: list[LoggedCall] = []
    while page := await calls(place_a, limit=2, before=paged[-1].log_id if paged else None):
        paged += page
    assert paged == everything
    assert len(paged) == 7
    assert [call.logged_at for call in paged] == sorted((call.logged_at for call in paged), reverse=True)


async def test_lists_can_be_narrowed_by_operation_and_time(place_a: TenantDatabase) -> None:
    now = datetime.now(UTC)
    for days, operation in enumerate(["retain", "forget", "retain"]):
        await write(place_a, replace(ENTRY, operation=operation, logged_at=now + timedelta(days=days)))
    assert len(await calls(place_a, operation="retain")) == 2
    assert len(await calls(place_a, since=now + timedelta(days=1))) == 2
    assert [call.operation for call in await calls(place_a, since=now, until=now + timedelta(days=1))] == [
        "retain"
    ]


BAD_QUESTIONS: list[dict[str, Any]] = [
    {"operation": ""},
    {"since": datetime(2026, 3, 1)},
    {"since": "2026-03-01T10:00:00"},
    {"until": "yesterday"},
    {"until": 7},
    {"since": "2026-03-02T00:00:00Z", "until": "2026-03-01T00:00:00Z"},
    {"before": "not an id"},
    {"limit": 0},
    {"limit": 1001},
    {"limit": True},
]


async def test_bad_questions_are_refused(place_a: TenantDatabase, subtests: pytest.Subtests) -> None:
    for bad in BAD_QUESTIONS:
        with subtests.test(bad=bad), pytest.raises(InvalidInputError):
            await calls(place_a, **bad)


async def test_owners_and_tenants_do_not_see_each_others_calls(
    place_a: TenantDatabase, place_b: TenantDatabase
) -> None:
    await write(place_a)
    (call,) = await calls(place_a)
    assert await calls(place_a, BOB) == []
    assert await calls(place_b) == []
    for place, scope in ((place_a, BOB), (place_b, ALICE)):
        with pytest.raises(NotFoundError):
            await calls(place, scope, before=call.log_id)


@pytest.mark.parametrize(
    "attack",
    [
        "UPDATE {log} SET memory_count = 0",
        "DELETE FROM {log}",
        "TRUNCATE {log}",
        "DROP TABLE {log}",
        "ALTER TABLE {log} DISABLE ROW LEVEL SECURITY",
        "SELECT mnemic.drop_log_partitions(1)",
    ],
)
@pytest.mark.parametrize("log", ["traces.memory_log", "traces.memory_log_{today}"])
async def test_the_application_cannot_change_what_was_logged(
    place_a: TenantDatabase,
    tenant_a: Tenant,
    connect_as: ConnectAs,
    admin: AppConnection,
    attack: str,
    log: str,
) -> None:
    await write(place_a)
    before = admin.execute("SELECT * FROM traces.memory_log").fetchall()
    statement = attack.format(log=log.format(today=partitions(admin)[0].removeprefix("memory_log_")))
    with pytest.raises(pg.InsufficientPrivilege):
        connect_as(tenant_a).execute(statement)
    assert admin.execute("SELECT * FROM traces.memory_log").fetchall() == before
    assert len(before) == 1


async def test_rows_come_in_through_the_log_itself_only(
    place_a: TenantDatabase, tenant_a: Tenant, connect_as: ConnectAs, admin: AppConnection
) -> None:
    await write(place_a)
    with pytest.raises(pg.InsufficientPrivilege):
        connect_as(tenant_a).execute(
            f"INSERT INTO traces.{partitions(admin)[0]} SELECT * FROM traces.memory_log"
        )


async def test_nobody_can_log_for_another_tenant(
    place_a: TenantDatabase, tenant_b: Tenant, connect_as: ConnectAs
) -> None:
    await write(place_a)
    forged = (
        "INSERT INTO traces.memory_log (tenant_id, owner, channel, process, operation, memory_count)"
        " VALUES (%s, 'alice', '_global', 'tests', 'retain', 1)"
    )
    with pytest.raises(pg.InsufficientPrivilege, match="row-level security"):
        connect_as(tenant_b).execute(forged, [place_a.tenant.id])


def test_only_a_proven_tenant_can_have_partitions_made(connect_as: ConnectAs, admin: AppConnection) -> None:
    with pytest.raises(pg.InsufficientPrivilege, match="no tenant was proved"):
        connect_as(None).execute("SELECT mnemic.make_log_partitions(current_date, 1)")
    assert partitions(admin) == []


def make_partitions(connection: AppConnection, days: int) -> int:
    row = connection.execute("SELECT mnemic.make_log_partitions(current_date, %s)", [days]).fetchone()
    assert row is not None
    return int(str(row[0]))


async def test_partitions_are_made_ahead_once(
    tenant_a: Tenant, connect_as: ConnectAs, admin: AppConnection
) -> None:
    connection = connect_as(tenant_a)
    assert [make_partitions(connection, days) for days in (3, 4, 4, 0)] == [3, 1, 0, 0]
    connection.execute("COMMIT")
    assert len(partitions(admin)) == 4


async def test_a_hostile_caller_cannot_make_partitions_without_end(
    tenant_a: Tenant, connect_as: ConnectAs
) -> None:
    with pytest.raises(pg.DatetimeFieldOverflow, match="within 400 days"):
        make_partitions(connect_as(tenant_a), 401)


async def test_retention_drops_the_days_that_ended_too_long_ago(
    place_a: TenantDatabase, place_b: TenantDatabase, admin: AppConnection
) -> None:
    today = datetime.now(UTC)
    for place in (place_a, place_b):
        for days_ago in (40, 31, 30, 0):
            await write(
                place, replace(ENTRY, memory_count=days_ago, logged_at=today - timedelta(days=days_ago))
            )
    dropped = [str(name) for (name,) in admin.execute("SELECT mnemic.drop_log_partitions(30)")]
    oldest_kept = f"memory_log_{today - timedelta(days=30):%Y%m%d}"
    assert dropped
    assert max(dropped) < oldest_kept == partitions(admin)[0]
    for place in (place_a, place_b):
        assert [call.memory_count for call in await calls(place)] == [0, 30]


@pytest.mark.parametrize("keep_days", [0, -1, None])
async def test_retention_never_drops_today(
    place_a: TenantDatabase, admin: AppConnection, keep_days: int | None
) -> None:
    await write(place_a)
    with pytest.raises(pg.InvalidParameterValue):
        admin.execute("SELECT mnemic.drop_log_partitions(%s::int)", [keep_days])
    assert len(await calls(place_a)) == 1


async def test_the_list_reads_the_newest_days_by_index(place_a: TenantDatabase, admin: AppConnection) -> None:
    """An owner's page must not cost a walk through everybody's log."""
    await write(place_a)
    admin.execute(
        "INSERT INTO traces.memory_log"
        " (tenant_id, logged_at, owner, channel, process, operation, memory_count)"
        " SELECT %s, now() + (n %% %s) * interval '1 day', 'owner ' || n %% 50, '_global', 'p', 'retain', 1"
        " FROM generate_series(1, 10000) AS n",
        [place_a.tenant.id, PARTITIONS_MADE],
    )
    admin.execute("ANALYZE traces.memory_log")
    parameters = {
        **dict.fromkeys(["since", "until", "before_at", "before_id", "operation"]),
        "owner": "owner 7",
        "limit": 20,
    }
    async with place_a.transaction() as transaction:
        cursor = await transaction.connection.execute(
            "EXPLAIN " + query("memory_log.list"), transaction.values("memory_log.list", parameters)
        )
        plan = "\n".join(row["QUERY PLAN"] for row in await cursor.fetchall())
    assert "Seq Scan on memory_log" not in plan
    assert "owner_logged_at_log_id" in plan
    assert "Sort" not in plan
