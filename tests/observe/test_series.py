"""The series of a tenant: what its calls add up to, over hours, days and processes."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from mnemic.db.access import Access
from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.errors import InvalidInputError
from mnemic.jobs.handlers import RunningJob
from mnemic.maintenance import jobs as maintenance
from mnemic.maintenance.series import check_series_window
from mnemic.runtime import hourly_metrics
from mnemic.runtime.call_metrics import MeasuredCall
from mnemic.runtime.hourly_metrics import BOUNDS_MS, HourCounts, add_counts
from mnemic.sdk.memory import AsyncMemory
from mnemic.sql import query
from mnemic.types.series import SERIES_OPERATIONS, Series, SeriesCalls
from tests.conftest import AppConnection, ConnectAs, open_database
from tests.observe.counting_process import UNWRITTEN, WRITTEN
from tests.opened import core_of, opened
from tests.scripted_prices import PricedModel
from tests.waiting import wait_for, wait_until

ROOT = Path(__file__).resolve().parents[2]
END_TIMEOUT_S = 60.0
HYDE: Any = ("vector", "text", "hyde")
COST = Decimal("0.00045")
CALLS = "SELECT coalesce(sum(call_count), 0) FROM traces.hourly_metrics"
FILLED = """
INSERT INTO traces.hourly_metrics
SELECT %(tenant_id)s, hour, 'recall', 1, 0, 0, 0, 1, 0, array_fill(0, ARRAY[48]) || 1,
    array_fill(0, ARRAY[20])
FROM generate_series(
    date_trunc('hour', now(), 'UTC') - make_interval(hours => %(hours)s), date_trunc('hour', now(), 'UTC'),
    interval '1 hour'
) AS hour
"""


@pytest.fixture
def memory(database: Database, tenant_a: Tenant) -> AsyncMemory:
    return opened(database, tenant_a, embedder="test")


def number(admin: AppConnection, statement: str) -> int:
    (value,) = admin.execute(statement.encode()).fetchone() or (0,)
    return int(str(value))


def summed(series: Series, operation: str, field: str) -> int:
    return sum(getattr(point.calls[operation], field) for point in series.points)


async def test_an_empty_tenant_has_points_without_calls(memory: AsyncMemory) -> None:
    series = await memory.metrics.series()
    assert (series.step, len(series.points), series.confidences) == ("hour", 24, (0,) * 20)
    assert series.until - series.since == timedelta(hours=24)
    assert [point.at for point in series.points] == [series.since + timedelta(hours=n) for n in range(24)]
    assert series.since < series.points[-1].at <= datetime.now(UTC) < series.until
    for point in series.points:
        assert point.calls == {operation: SeriesCalls() for operation in SERIES_OPERATIONS}
    assert (series.usd, series.refuse_below) == (Decimal(0), 0.25)


async def test_calls_are_counted_with_their_results(memory: AsyncMemory) -> None:
    await memory.retain(["Alice plays the cello.", "Alice has a dog."])
    found = await memory.recall("cello")
    await memory.recall("quantum chromodynamics", refuse_below=1)
    await memory.recall("cello", record=False)
    with pytest.raises(InvalidInputError):
        await memory.retain("")
    series = await memory.metrics.series()
    totals = series.totals
    for operation, calls in totals.items():
        assert summed(series, operation, "call_count") == calls.call_count
    assert (totals["retain"].call_count, totals["retain"].failed_count) == (2, 1)
    assert totals["retain"].memory_count == 2
    assert (totals["recall"].call_count, totals["recall"].refused_count) == (2, 1)
    assert totals["recall"].memory_count == len(found)
    assert (
        0 < (totals["recall"].p50_ms or 0) <= (totals["recall"].p95_ms or 0) <= (totals["recall"].p99_ms or 0)
    )
    assert sum(series.confidences) == 2
    assert series.confidences[min(int(found.confidence * 20), 19)] >= 1
    assert totals["model"] == SeriesCalls()


async def test_calls_of_language_models_and_their_cost_are_counted(
    database: Database, tenant_a: Tenant
) -> None:
    memory = opened(database, tenant_a, owner=None, embedder="test", llm=PricedModel())
    await memory.retain("Alice owns a canoe", owner="alice")
    await memory.recall("vessel", owner="alice", techniques=HYDE, refuse_below=0)
    await memory.spend.set_cap(0)
    await memory.recall("vessel", owner="alice", techniques=HYDE, refuse_below=0)
    series = await memory.metrics.series()
    assert (series.totals["model"].call_count, series.totals["model"].refused_count) == (2, 1)
    assert series.totals["model"].p50_ms is None
    assert series.usd == sum(point.usd for point in series.points) == COST
    (line,) = await memory.spend.summary()
    assert line.usd == series.usd


async def test_processes_add_up(memory: AsyncMemory, access: Access, tenant_a: Tenant) -> None:
    async with open_database(access) as other_database:
        other = opened(other_database, tenant_a, owner="bob", embedder="test")
        await memory.retain("Alice plays the cello.")
        await other.retain("Bob plays the harp.")
        await memory.recall("cello")
        await other.recall("harp")
        await core_of(other).write_hourly_metrics()
        await other.recall("harp")
        await core_of(other).write_hourly_metrics()
        series = await memory.metrics.series()
    assert (series.totals["retain"].call_count, series.totals["retain"].memory_count) == (2, 2)
    assert (series.totals["recall"].call_count, sum(series.confidences)) == (3, 3)


async def test_counts_are_written_without_a_call_and_at_closing(
    memory: AsyncMemory, admin: AppConnection
) -> None:
    core_of(memory).hourly_metrics.write_after_s = 0.05
    await memory.retain("Alice plays the cello.")
    await wait_for(lambda: number(admin, CALLS) == 1)
    core_of(memory).hourly_metrics.write_after_s = 3600
    await memory.retain("Alice has a dog.")
    assert number(admin, CALLS) == 1
    await memory.aclose()
    assert number(admin, CALLS) == 2


async def test_counts_are_kept_while_they_cannot_be_written(
    memory: AsyncMemory, admin: AppConnection
) -> None:
    await memory.retain("Alice plays the cello.")
    admin.execute("REVOKE INSERT ON traces.hourly_metrics FROM mnemic_app")
    assert (await memory.metrics.series()).totals["retain"].call_count == 0
    await memory.retain("Alice has a dog.")
    admin.execute("GRANT INSERT ON traces.hourly_metrics TO mnemic_app")
    assert (await memory.metrics.series()).totals["retain"].call_count == 2


def test_a_killed_process_loses_only_what_it_has_not_written(
    access: Access, tenant_a: Tenant, admin: AppConnection
) -> None:
    orders = {"conninfo": access.conninfo(), "key": access.key.secret.hex(), "tenant": tenant_a.name}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.observe.counting_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{json.dumps(orders)}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "written\n"
            wait_until(lambda: number(admin, CALLS) == WRITTEN)
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "unwritten\n"
        finally:
            process.kill()
            process.wait(END_TIMEOUT_S)
    assert number(admin, "SELECT count(*) FROM state.memories") == WRITTEN + UNWRITTEN
    assert number(admin, CALLS) == WRITTEN


async def test_long_series_are_by_day_and_old_hours_are_pruned(
    memory: AsyncMemory, tenant_a: Tenant, admin: AppConnection, job: RunningJob
) -> None:
    admin.execute(FILLED, {"tenant_id": tenant_a.id, "hours": 100 * 24})
    month = await memory.metrics.series(hours=30 * 24)
    assert (month.step, len(month.points)) == ("day", 30)
    assert {point.calls["recall"].call_count for point in month.points[:-1]} == {24}
    assert all(point.at.hour == 0 for point in month.points)
    week = await memory.metrics.series(hours=7 * 24)
    assert (week.step, len(week.points)) == ("hour", 168)
    assert {point.calls["recall"].call_count for point in week.points} == {1}
    part = await memory.metrics.series(since=week.since, until=week.since + timedelta(hours=3))
    assert part.points == week.points[:3]
    done: Any = await maintenance.prune(core_of(memory), job)
    assert done["hourly_metric_count"] == pytest.approx(10 * 24, abs=1)
    assert number(admin, CALLS) == pytest.approx(90 * 24, abs=2)


async def test_growth_has_every_day_and_counts_stored_memories(memory: AsyncMemory) -> None:
    await memory.retain(["Alice plays the cello.", "Alice has a dog."])
    growth = await memory.metrics.growth(days=3)
    today = datetime.now(UTC).date()
    assert [day.day for day in growth] == [today - timedelta(days=number) for number in (2, 1, 0)]
    assert [day.stored_count for day in growth] == [0, 0, 2]
    for days in (0, 91, True):
        with pytest.raises(InvalidInputError, match="from 1 to 90"):
            await memory.metrics.growth(days=days)


async def test_growth_keeps_days_that_are_over_and_counts_new_memories(memory: AsyncMemory) -> None:
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    database = core_of(memory).storage.tenant_database

    async def stored(days: int) -> list[int]:
        return [day.stored_count for day in await memory.metrics.growth(days=days)]

    await add_counts(database, {(now - timedelta(days=3), "retain"): HourCounts(memory_count=7)})
    assert await stored(4) == [7, 0, 0, 0]
    await memory.retain("Alice plays the cello.")
    assert await stored(4) == [7, 0, 0, 1]
    assert await stored(2) == [0, 1]
    # More days than were kept are read.
    await add_counts(database, {(now - timedelta(days=5), "retain"): HourCounts(memory_count=3)})
    assert await stored(6) == [3, 0, 7, 0, 0, 1]


async def test_tenants_do_not_see_each_other(memory: AsyncMemory, foreign_memory: AsyncMemory) -> None:
    await memory.retain("Alice plays the cello.")
    assert (await memory.metrics.series()).totals["retain"].call_count == 1
    assert (await foreign_memory.metrics.series()).totals["retain"].call_count == 0


async def test_percentiles_are_close_to_those_of_the_durations(memory: AsyncMemory) -> None:
    for duration_ms in range(1, 1001):
        core_of(memory).hourly_metrics.count_call("recall", MeasuredCall(duration_ms=float(duration_ms)))
    core_of(memory).hourly_metrics.count_call("retain", MeasuredCall(duration_ms=1e9))
    totals = (await memory.metrics.series()).totals
    recall = totals["recall"]
    assert (recall.p50_ms, recall.p95_ms, recall.p99_ms) == pytest.approx((500, 950, 990), rel=0.06)
    assert totals["retain"].p50_ms == pytest.approx(BOUNDS_MS[-1])


def test_windows_are_whole_steps_and_bad_ones_are_refused() -> None:
    now = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)

    def window(**given: Any) -> tuple[datetime, datetime, str]:
        named = {"hours": None, "since": None, "until": None} | given
        made = check_series_window(named["hours"], named["since"], named["until"], now=now)
        return made.since, made.until, made.step

    hour, day = datetime(2026, 3, 1, 11, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC)
    assert window() == (hour - timedelta(hours=24), hour, "hour")
    assert window(hours=168) == (hour - timedelta(days=7), hour, "hour")
    assert window(hours=169) == (day - timedelta(days=8), day, "day")
    assert window(since="2026-03-01T09:59:00Z") == (hour - timedelta(hours=2), hour, "hour")
    assert window(since="2026-03-01", until="2026-03-02") == (day - timedelta(days=1), day, "hour")
    bad: dict[str, dict[str, Any]] = {
        "not both": {"hours": 3, "since": "2026-03-01"},
        "from 1 to 2,160": {"hours": 0},
        "whole number": {"hours": 1.5},
        "at most 90 days": {"since": "2025-01-01"},
        "after since": {"since": "2026-04-01"},
        "since must be": {"since": "yesterday"},
        "years 1 to 9999": {"until": "0001-01-01", "hours": 2},
    }
    for message, given in bad.items():
        with pytest.raises(InvalidInputError, match=message):
            window(**given)


async def test_unwritten_hours_are_bounded(
    memory: AsyncMemory, admin: AppConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hourly_metrics, "KEPT_MAX_ROWS", 1)
    admin.execute("REVOKE INSERT ON traces.hourly_metrics FROM mnemic_app")
    await memory.retain("Alice plays the cello.")
    await memory.recall("cello")
    await memory.metrics.series()
    admin.execute("GRANT INSERT ON traces.hourly_metrics TO mnemic_app")
    totals = (await memory.metrics.series()).totals
    assert totals["recall"].call_count + totals["retain"].call_count == 1


def test_a_series_is_read_by_index(connect_as: ConnectAs, tenant_a: Tenant, admin: AppConnection) -> None:
    admin.execute(FILLED, {"tenant_id": tenant_a.id, "hours": 100 * 24})
    admin.execute("ANALYZE traces.hourly_metrics")
    connection = connect_as(tenant_a)
    now = datetime.now(UTC)
    parameters = {"tenant_id": tenant_a.id, "since": now - timedelta(days=1), "until": now, "step_s": 3600}
    plan = connection.execute(f"EXPLAIN {query('hourly_metrics.series')}".encode(), parameters).fetchall()
    text = "\n".join(str(line) for (line,) in plan)
    assert "hourly_metrics_pkey" in text
    assert "Seq Scan" not in text
