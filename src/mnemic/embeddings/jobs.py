"""Jobs that embed: the backlog, and all memories when the model is changed."""

from uuid import UUID

from mnemic.embeddings.backlog import BACKLOG_JOB, embed_backlog
from mnemic.embeddings.model_change import CHANGE_JOB, complete_change
from mnemic.jobs.handlers import JsonValue, RunningJob
from mnemic.runtime.core import Core
from mnemic.runtime.job_types import DefaultSchedule, JobTable, JobType


async def embed_missing_vectors(core: Core, job: RunningJob) -> JsonValue:
    """`embeddings.backlog`: embed memories without a vector; fails, and is retried, if the model is down."""

    def report(done: int) -> None:
        _ = job.report(done=done)

    return {"embedded_count": await embed_backlog(core, on_progress=report)}


async def change_model(core: Core, job: RunningJob) -> JsonValue:
    """`embeddings.change_model`: embed all memories with `model`, then switch to it."""

    def report(done: int, total: int) -> None:
        _ = job.report(done=done, total=total)

    asked = job.payload.get("intent_id")
    intent_id = UUID(asked) if asked is not None else None
    is_serving = await complete_change(core, str(job.payload["model"]), report, intent_id=intent_id)
    return {"is_serving": is_serving}


JOBS = JobTable(
    (
        JobType(BACKLOG_JOB, embed_missing_vectors, DefaultSchedule("embedding backlog")),
        JobType(CHANGE_JOB, change_model),
    )
)
