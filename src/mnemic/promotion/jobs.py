"""The hourly job that promotes and demotes memories."""

from mnemic.errors import InvalidInputError, PermanentJobError
from mnemic.jobs.handlers import JsonValue, RunningJob
from mnemic.promotion.promoting import PROCESS, promote_memories
from mnemic.promotion.thresholds import Thresholds
from mnemic.runtime.core import Core
from mnemic.runtime.job_types import DefaultSchedule, JobTable, JobType

HOUR_S = 60 * 60


async def promote(core: Core, job: RunningJob) -> JsonValue:
    """`mind.promote`: promote memories of all owners, or of the job's. Thresholds are in the payload."""
    try:
        thresholds = Thresholds.checked(job.payload)
    except InvalidInputError as error:
        # The payload is the same the next time.
        raise PermanentJobError(str(error)) from error
    return {**await promote_memories(core.storage.tenant_database, thresholds, job.owner)}


JOBS = JobTable((JobType(PROCESS, promote, DefaultSchedule("promotion", every_s=HOUR_S)),))
