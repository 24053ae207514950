"""Wait until a job has ended.

Waiting polls, with pauses that double up to `LONGEST_PAUSE_S`. Where a worker of the same process may run the
job, its wakeup (`finished_jobs`) ends a pause early.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from mnemic.db.database import Database
from mnemic.types.job import Job

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.5

ReadJob = Callable[[], Awaitable[Job]]


async def wait_for_job(
    read_job: ReadJob, *, timeout_s: float = math.inf, woken: asyncio.Event | None = None
) -> Job:
    """Read a job until it has ended or the time is up; returns it as it is then: see `has_ended`.

    Setting `woken` ends a pause early.
    """
    woken = woken if woken is not None else asyncio.Event()
    deadline_s = time.monotonic() + timeout_s
    pause_s = FIRST_PAUSE_S
    while True:
        woken.clear()
        job = await read_job()
        left_s = deadline_s - time.monotonic()
        if job.has_ended or left_s <= 0:
            return job
        with suppress(TimeoutError):
            async with asyncio.timeout(min(pause_s, left_s)):
                await woken.wait()
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


async def wait_beside_worker(database: Database, read_job: ReadJob) -> Job:
    """The same without a time limit, woken whenever a worker of this process has finished jobs."""
    woken = asyncio.Event()
    unregister = database.on_wakeup("finished_jobs", woken.set)
    try:
        return await wait_for_job(read_job, woken=woken)
    finally:
        unregister()
