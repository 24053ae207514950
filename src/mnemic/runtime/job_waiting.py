"""Waiting for a job of one's own, and working on it meanwhile if nobody else does."""

import asyncio
from uuid import UUID

from mnemic.errors import ConflictError
from mnemic.jobs.queue import get_job
from mnemic.runtime.core import Core
from mnemic.sdk.working import prepare
from mnemic.types.job import Job

LOOK_EVERY_S = 0.05


async def finish(core: Core, job_id: UUID) -> Job:
    """Return when a job has been done, by this process or another one; ConflictError if it ended otherwise.

    A memory that does not work on jobs by itself does so while it waits.
    """
    worker = core.in_process_worker
    works_anyway = worker.is_watching
    prepare(core)
    worker.start(core.storage.database, core.tenant)
    try:
        job = await get_job(core.storage.tenant_database, job_id)
        while not job.has_ended:
            await asyncio.sleep(LOOK_EVERY_S)
            job = await get_job(core.storage.tenant_database, job_id)
    finally:
        if not works_anyway:
            await worker.aclose()
    if job.state != "done":
        reason = f": {job.error.type}: {job.error.message}" if job.error is not None else "."
        raise ConflictError(f"The job {job_id} ({job.type}) is {job.state}{reason}")
    return job
