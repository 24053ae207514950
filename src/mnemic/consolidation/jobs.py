"""The job that consolidates everything that is new in a tenant."""

from dataclasses import asdict

from mnemic.consolidation.consolidating import Selection, consolidate
from mnemic.jobs.handlers import JsonValue, RunningJob
from mnemic.runtime.core import Core
from mnemic.runtime.job_types import DefaultSchedule, JobTable, JobType

CONSOLIDATE_JOB = "mind.consolidate"
EVERY_S = 15 * 60


async def consolidate_tenant(core: Core, job: RunningJob) -> JsonValue:
    """`mind.consolidate`: learn from the turns, notes and documents since the last pass."""

    def report(count: int) -> None:
        _ = job.report(done=count)

    return asdict(await consolidate(core, Selection(), report))


JOBS = JobTable(
    (JobType(CONSOLIDATE_JOB, consolidate_tenant, DefaultSchedule("consolidation", every_s=EVERY_S)),)
)
