"""A worker ticks by itself, and does the jobs that come of it."""

import asyncio
from datetime import UTC, datetime, timedelta

from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.runtime.core import Core
from mnemic.runtime.default_schedules import give_default_schedules
from mnemic.runtime.workers import tenants_worker
from mnemic.sdk.job_table import JOBS
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.opened import core_of, opened
from tests.waiting import wait_for


async def test_a_schedule_that_is_due_is_done_by_a_worker(
    database: Database, tenant_a: Tenant, admin: AppConnection
) -> None:
    memory: AsyncMemory = opened(database, tenant_a, embedder="test")
    await give_default_schedules(core_of(memory).storage.tenant_database, JOBS)
    gone = await memory.retain("Bob visits today.", expires_at=datetime.now(UTC) - timedelta(seconds=1))
    make_due(admin, tenant_a, is_cleanup=False)

    async def open_core(tenant: Tenant) -> Core:
        return core_of(opened(database, tenant, embedder="test"))

    worker = tenants_worker(database, open_core, JOBS)
    working = asyncio.create_task(worker.run())
    count = len(JOBS.default_schedules)
    await wait_for(lambda: finished(admin) == count - 1, what="the jobs of the other default schedules")
    # Cleanup leaves out memories that another job has locked, until the next day.
    make_due(admin, tenant_a, is_cleanup=True)
    await wait_for(lambda: finished(admin) == count, what="the cleanup")
    worker.stop()
    await asyncio.wait_for(working, timeout=60)
    states = admin.execute("SELECT DISTINCT state FROM queue.finished_jobs").fetchall()
    assert states == [("done",)]
    assert (await memory.memories.get(gone.memory_ids[0])).status == "archived"
    schedules = await memory.schedules.list()
    assert all(schedule.last_job_id is not None for schedule in schedules)
    assert all(schedule.next_run_at > datetime.now(UTC) for schedule in schedules)


def make_due(admin: AppConnection, tenant: Tenant, *, is_cleanup: bool) -> None:
    admin.execute(
        "UPDATE queue.schedules SET next_run_at = now() - interval '1 day'"
        " WHERE tenant_id = %s AND (job_type = 'maintenance.cleanup') = %s",
        [tenant.id, is_cleanup],
    )


def finished(admin: AppConnection) -> int:
    (count,) = admin.execute("SELECT count(*) FROM queue.finished_jobs").fetchone() or (0,)
    return int(str(count))


async def test_an_embedded_memory_begins_to_work_when_a_schedule_is_due_soon(
    database: Database, tenant_a: Tenant
) -> None:
    memory = opened(database, tenant_a, embedder="test")
    hints: list[str] = []
    end = database.on_wakeup("jobs", lambda: hints.append("jobs"))

    async def is_needed() -> bool:
        async with core_of(memory).storage.tenant_database.transaction() as transaction:
            return bool((await transaction.one("queued_jobs.any_waiting", {"types": []}))["any_waiting"])

    assert not await is_needed()
    assert hints == []
    await memory.schedules.set("sync", "sync.run", every_s=600)
    end()
    assert await is_needed()
    assert hints == ["jobs"]
