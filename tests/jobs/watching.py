"""Poll a job until a condition holds."""

import asyncio
from collections.abc import Callable
from uuid import UUID

from mnemic.sdk.memory import AsyncMemory
from mnemic.types.job import Job

WAIT_S = 60.0
PAUSE_S = 0.01


async def until(memory: AsyncMemory, job_id: UUID, holds: Callable[[Job], bool]) -> Job:
    """The job as soon as the condition holds; fails when it does not in time."""
    async with asyncio.timeout(WAIT_S):
        job = await memory.jobs.status(job_id)
        while not holds(job):
            await asyncio.sleep(PAUSE_S)
            job = await memory.jobs.status(job_id)
        return job
