"""A worker in a process of its own, to be killed.

It reads its orders from standard input as JSON: `conninfo` and `key` of the database. It knows the jobs

* ``step``: notes in `probe.runs` that it ran, under a lock that only one process can have for a job at a
  time; whoever does not get the lock notes that in `probe.overlaps`;
* ``deadly``: kills its process, without a warning;
* ``hang``: never ends.

It says ``ready`` when it works, and ends cleanly when standard input is closed.
"""

import asyncio
import json
import os
import signal
import sys
from typing import Any

import psycopg

from mnemic.db.access import Access
from mnemic.db.connection import Limits
from mnemic.db.database import Database
from mnemic.db.tenancy import SigningKey
from mnemic.jobs.handlers import RunningJob
from mnemic.jobs.worker import Worker

PROBE = """
    CREATE SCHEMA probe;
    CREATE TABLE probe.runs (job_id uuid, attempt int);
    CREATE TABLE probe.overlaps (job_id uuid);
    GRANT USAGE ON SCHEMA probe TO mnemic_app;
    GRANT INSERT ON ALL TABLES IN SCHEMA probe TO mnemic_app;
"""
STEP_S = 0.1
CONCURRENCY = 5


async def work(orders: dict[str, Any]) -> None:
    async with await psycopg.AsyncConnection.connect(orders["conninfo"], autocommit=True) as probe:

        async def step(job: RunningJob) -> None:
            lock = {"lock": job.id.int % 2**63}
            cursor = await probe.execute("SELECT pg_try_advisory_lock(%(lock)s)", lock)
            if await cursor.fetchone() != (True,):
                await probe.execute("INSERT INTO probe.overlaps VALUES (%s)", [job.id])
            await probe.execute("INSERT INTO probe.runs VALUES (%s, %s)", [job.id, job.attempt])
            await asyncio.sleep(STEP_S)
            await probe.execute("SELECT pg_advisory_unlock(%(lock)s)", lock)

        access = Access(lambda: orders["conninfo"], SigningKey.from_hex(orders["key"]), "", "")
        database = Database(access, Limits())
        await database.open()
        handlers = {"step": step, "deadly": deadly, "hang": hang}
        worker = Worker(database, handlers, concurrency=CONCURRENCY)
        asyncio.get_running_loop().add_reader(sys.stdin, worker.stop)
        task = asyncio.create_task(worker.run())
        await worker.ready()
        print("ready", flush=True)
        await task
        await database.aclose()


async def deadly(job: RunningJob) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def hang(job: RunningJob) -> None:
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(work(json.loads(sys.stdin.readline())))
