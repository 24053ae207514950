"""Waiting for a job: polling, a time limit, and wakeups from workers of the same process."""

import asyncio

import pytest

from mnemic.db.database import Database
from mnemic.errors import ConflictError
from mnemic.jobs import waiting
from mnemic.jobs.handlers import RunningJob
from mnemic.jobs.waiting import wait_beside_worker
from mnemic.runtime.job_waiting import finish_job
from mnemic.sdk.memory import AsyncMemory
from tests.jobs.conftest import StartWorker
from tests.jobs.watching import WAIT_S
from tests.opened import core_of


async def test_a_worker_of_this_process_wakes_the_waiter(
    memory: AsyncMemory, database: Database, start_worker: StartWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "FIRST_PAUSE_S", 10 * WAIT_S)
    may_end = asyncio.Event()

    async def wait(job: RunningJob) -> str:
        await may_end.wait()
        return "ended"

    await start_worker({"wait": wait})
    job = await memory.jobs.enqueue("wait")
    waiter = asyncio.create_task(wait_beside_worker(database, lambda: memory.jobs.status(job.job_id)))
    await asyncio.sleep(0)
    may_end.set()
    assert (await asyncio.wait_for(waiter, timeout=WAIT_S)).result == "ended"


async def test_without_a_wakeup_polling_finds_the_end(memory: AsyncMemory, start_worker: StartWorker) -> None:
    async def work(job: RunningJob) -> str:
        return "ended"

    job = await memory.jobs.enqueue("work")
    waiter = asyncio.create_task(memory.jobs.wait(job.job_id, timeout_s=WAIT_S))
    await start_worker({"work": work})
    assert (await waiter).result == "ended"


async def test_after_the_time_limit_the_job_is_returned_as_it_is(memory: AsyncMemory) -> None:
    job = await memory.jobs.enqueue("nobody.knows")
    assert (await memory.jobs.wait(job.job_id, timeout_s=0)).state == "waiting"
    assert (await memory.jobs.wait(job.job_id, timeout_s=0.05)).state == "waiting"


async def test_finishing_a_job_that_is_cancelled_is_a_conflict(memory: AsyncMemory) -> None:
    job = await memory.jobs.enqueue("nobody.knows")
    await memory.jobs.cancel(job.job_id)
    with pytest.raises(ConflictError, match="is cancelled"):
        await finish_job(core_of(memory), job.job_id)
