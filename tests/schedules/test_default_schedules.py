"""Default schedules: a tenant gets each of them once, when it is opened."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from mnemic import Memory
from mnemic.config import Settings
from mnemic.db.access import Access
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.migrate import migrate
from mnemic.db.tenancy import Tenant
from mnemic.jobs.handlers import JsonValue, RunningJob
from mnemic.runtime.core import Core
from mnemic.runtime.default_schedules import give_default_schedules
from mnemic.runtime.job_types import DefaultSchedule, JobTable, JobType, combine
from mnemic.runtime.storage import Storage
from mnemic.sdk.job_table import JOBS
from mnemic.sdk.memory import AsyncMemory
from mnemic.sdk.tenants import Tenants
from tests.conftest import LIMITS, AppConnection, ConnectAs, open_database
from tests.db.version_before import make_old_database
from tests.opened import opened
from tests.prepared_folder import copy_prepared
from tests.waiting import wait_for


async def nothing(core: Core, job: RunningJob) -> JsonValue:
    return None


NEW_TYPE = JobType("reports.write", nothing, DefaultSchedule("reports", every_s=7200))
WITH_NEW = combine(JOBS, JobTable((NEW_TYPE,)))
EVERY_S = {default.name: default.every_s for default, _ in JOBS.default_schedules}
NAMES = sorted(EVERY_S)
BLOCKED = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


async def schedule_names(memory: AsyncMemory) -> list[str]:
    return [schedule.name for schedule in await memory.schedules.list()]


async def open_with(database: Database, name: str, jobs: JobTable) -> Tenant:
    """Open a tenant as `Core.open` does."""
    tenant = await database.open_tenant(name)
    await give_default_schedules(TenantDatabase(database, tenant), jobs)
    return tenant


async def test_tenants_get_the_defaults_at_different_times(database: Database) -> None:
    memories = [opened(database, await open_with(database, name, JOBS)) for name in ("a", "b")]
    ours, theirs = [await memory.schedules.list() for memory in memories]
    assert [schedule.name for schedule in ours] == NAMES
    assert {schedule.name: schedule.every_s for schedule in ours if schedule.enabled} == EVERY_S
    assert {schedule.next_run_at for schedule in ours}.isdisjoint(schedule.next_run_at for schedule in theirs)
    for schedule in ours:
        soon_s, late_s = min(3540, EVERY_S[schedule.name] - 60), max(3600, EVERY_S[schedule.name])
        now = datetime.now(UTC)
        assert now + timedelta(seconds=soon_s) < schedule.next_run_at <= now + timedelta(seconds=late_s)


async def test_an_older_tenant_gets_a_new_default_at_the_next_opening(database: Database) -> None:
    memory = opened(database, await open_with(database, "old", JOBS))
    assert await schedule_names(memory) == NAMES
    await open_with(database, "old", WITH_NEW)
    assert await schedule_names(memory) == sorted([*NAMES, "reports"])
    added = await memory.schedules.get("reports")
    assert added is not None
    assert (added.job_type, added.every_s) == ("reports.write", 7200)


async def test_deleted_and_paused_defaults_stay_deleted_and_paused(database: Database) -> None:
    memory = opened(database, await open_with(database, "old", JOBS))
    assert await memory.schedules.delete("snapshots")
    await memory.schedules.pause("cleanup")
    await open_with(database, "old", WITH_NEW)
    assert await schedule_names(memory) == sorted({*NAMES, "reports"} - {"snapshots"})
    cleanup = await memory.schedules.get("cleanup")
    assert cleanup is not None
    assert not cleanup.enabled


async def test_a_schedule_of_the_user_with_the_name_of_a_new_default_is_kept(database: Database) -> None:
    memory = opened(database, await open_with(database, "old", JOBS))
    mine = await memory.schedules.set("reports", "my.reports", every_s=60)
    await open_with(database, "old", WITH_NEW)
    assert await memory.schedules.get("reports") == mine


async def test_two_processes_that_open_a_tenant_at_once_give_each_default_once(
    access: Access, database: Database, admin: AppConnection
) -> None:
    tenant = await database.open_tenant("old")
    # What the second process read when it opened the tenant, before the first one has committed.
    assert tenant.default_schedules == frozenset()
    async with open_database(access) as other:
        async with database.transaction(tenant) as first:
            await first.execute("schedules.give_defaults", parameters_of(tenant))
            second = asyncio.create_task(give_default_schedules(TenantDatabase(other, tenant), WITH_NEW))
            await wait_for(lambda: admin.execute(BLOCKED).rowcount == 1, what="the second process to block")
            await first.execute("schedules.delete", {"name": "reports"})
        await second
    memory = opened(database, tenant)
    assert await schedule_names(memory) == NAMES
    again = await database.open_tenant("old")
    assert again.default_schedules is not None
    assert sorted(again.default_schedules) == sorted([*NAMES, "reports"])


def parameters_of(tenant: Tenant) -> dict[str, object]:
    declared = WITH_NEW.default_schedules
    return {
        "tenant_id": tenant.id,
        "names": [default.name for default, _ in declared],
        "job_types": [job_type for _, job_type in declared],
        "every_s": [default.every_s for default, _ in declared],
    }


async def test_opening_a_tenant_that_lacks_nothing_takes_no_statement(database: Database) -> None:
    await open_with(database, "old", JOBS)
    tenant = await database.open_tenant("old")
    assert tenant.default_schedules == frozenset(NAMES)
    # A transaction of this tenant would fail: the database does not know its id.
    unusable = replace(tenant, id=None)  # type: ignore[arg-type]
    await give_default_schedules(TenantDatabase(database, unusable), JOBS)


async def test_a_tenant_cannot_change_the_row_of_another(
    connect_as: ConnectAs, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    connection = connect_as(tenant_a)
    changed = connection.execute(
        "UPDATE state.tenants SET default_schedules = '{x}' WHERE tenant_id = %s", (tenant_b.id,)
    )
    assert changed.rowcount == 0
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("UPDATE state.tenants SET name = 'other'")


def test_two_features_cannot_declare_the_same_job_or_schedule() -> None:
    with pytest.raises(ValueError, match=r"job type: reports\.write"):
        combine(JobTable((NEW_TYPE,)), JobTable((replace(NEW_TYPE, default_schedule=None),)))
    with pytest.raises(ValueError, match="default schedule: reports"):
        combine(JobTable((NEW_TYPE,)), JobTable((replace(NEW_TYPE, type="reports.send"),)))


async def test_tenants_of_the_version_before_are_recorded_as_having_the_five(
    template_access: Access, empty_conninfo: str
) -> None:
    make_old_database(empty_conninfo)
    await migrate(empty_conninfo, LIMITS)
    with psycopg.connect(empty_conninfo) as connection:
        (given,) = connection.execute("SELECT default_schedules FROM state.tenants").fetchone() or ([],)
    assert given == ["cleanup", "embedding backlog", "log days", "pruning", "snapshots"]


async def test_a_server_gives_the_defaults_to_the_tenants_that_it_serves(database: Database) -> None:
    tenants = Tenants(Settings(embedder="test"))
    tenants._host._storage = Storage(database, await database.open_tenant("default"), server=None)
    assert await schedule_names(await tenants.memory("by name")) == NAMES
    # As a server finds a tenant by its API key: nobody knows yet what it was given.
    found = await database.open_tenant("by key")
    assert await schedule_names(await tenants.memory(Tenant(found.id, found.name))) == NAMES


def test_opening_a_memory_gives_the_defaults(memory_dir: Path) -> None:
    data_dir = memory_dir / "never opened"
    copy_prepared(data_dir)
    with Memory(data_dir=data_dir, embedder="test") as memory:
        assert [schedule.name for schedule in memory.schedules.list()] == NAMES
