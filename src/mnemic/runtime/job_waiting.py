"""Wait for a job that a call has enqueued, and run it in this process if no other worker does."""

from uuid import UUID

from mnemic.errors import ConflictError
from mnemic.jobs.queue import get_job
from mnemic.jobs.waiting import wait_beside_worker
from mnemic.runtime.core import Core
from mnemic.types.job import Job


async def finish_job(core: Core, job_id: UUID) -> Job:
    """Return when a job is done, by this process or another one; ConflictError if it ended otherwise.

    A memory without an in-process worker runs one while it waits.
    """
    worker = core.in_process_worker
    works_anyway = worker.is_watching
    worker.start(core.storage.database, core.tenant)
    try:
        job = await wait_beside_worker(
            core.storage.database, lambda: get_job(core.storage.tenant_database, job_id)
        )
    finally:
        if not works_anyway:
            await worker.aclose()
    if job.state != "done":
        reason = f": {job.error.type}: {job.error.message}" if job.error is not None else "."
        raise ConflictError(f"The job {job_id} ({job.type}) is {job.state}{reason}")
    return job
