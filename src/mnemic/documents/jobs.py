"""The job that ingests a document."""

from uuid import UUID

from mnemic.documents.ingestion import ingest_document
from mnemic.documents.sources import INGEST_JOB
from mnemic.errors import InvalidInputError, PermanentJobError
from mnemic.jobs.handlers import JsonValue, RunningJob
from mnemic.runtime.core import Core
from mnemic.runtime.job_types import JobTable, JobType


async def ingest(core: Core, job: RunningJob) -> JsonValue:
    """`documents.ingest`: make the memories of a document what its text says, or go on with it."""

    def report(done: int, total: int) -> None:
        _ = job.report(done=done, total=total)

    try:
        return await ingest_document(core, UUID(job.payload["document_id"]), report)
    except InvalidInputError as error:
        # The text exceeds a limit, and will the next time.
        raise PermanentJobError(str(error)) from error


JOBS = JobTable((JobType(INGEST_JOB, ingest),))
