"""The job that ingests a document."""

from uuid import UUID

from mnemic.jobs.handling import JsonValue, RunningJob
from mnemic.sdk.core import Core
from mnemic.sdk.ingesting import ingest_document


async def ingest(core: Core, job: RunningJob) -> JsonValue:
    """`documents.ingest`: make the memories of a document what its text says, or go on with it."""

    def report(done: int, total: int) -> None:
        _ = job.report(done=done, total=total)

    return await ingest_document(core, UUID(job.payload["document_id"]), report)
