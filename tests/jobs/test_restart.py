"""A restart of PostgreSQL in the middle of the work."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from mnemic.db.access import url_access
from mnemic.db.connection import Limits
from mnemic.db.database import Database
from mnemic.db.migrate import migrate
from mnemic.jobs.handlers import RunningJob
from mnemic.jobs.worker import Worker
from tests.conftest import LIMITS, open_database
from tests.opened import opened
from tests.password_server import PasswordServer
from tests.waiting import wait_for

JOBS = 200


@pytest.fixture
async def remote_database(password_server: PasswordServer) -> AsyncIterator[Database]:
    """A database on the password server, which can be stopped and started."""
    password_server.execute("CREATE DATABASE working")
    url = password_server.url(dbname="working")
    await migrate(url, LIMITS)
    limits = Limits(pool_size=4, statement_timeout_s=60, connect_timeout_s=30)
    async with open_database(await url_access(url, limits, key=None), limits) as database:
        yield database
    password_server.execute("DROP DATABASE working WITH (FORCE)")


async def test_a_worker_carries_on_after_a_restart_and_runs_each_job_once(
    remote_database: Database, password_server: PasswordServer
) -> None:
    runs: list[str] = []
    may_go_on = asyncio.Event()

    async def note(job: RunningJob) -> None:
        runs.append(str(job.id))
        if len(runs) > JOBS // 4:
            await may_go_on.wait()

    memory = opened(remote_database, await remote_database.open_tenant("patient"))
    worker = Worker(remote_database, {"note": note})
    task = asyncio.create_task(worker.run())
    ids = await memory.jobs.enqueue_many("note", [{}] * JOBS)
    await wait_for(lambda: len(runs) > JOBS // 4, timeout_s=60)
    await asyncio.to_thread(password_server.stop)
    may_go_on.set()
    await asyncio.to_thread(password_server.run)
    before = len(runs)
    await wait_for(lambda: len(runs) > before, timeout_s=60)
    for job_id in ids:
        job = await memory.jobs.wait(job_id)
        assert (job.state, job.attempts) == ("done", 1)
    assert len(runs) == len(set(runs)) == JOBS
    worker.stop(grace_s=0)
    await task
