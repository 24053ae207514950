"""The job that makes maps: of the owner that the job names or, once a day, of all whose map is outdated."""

from mnemic.jobs.handlers import JsonValue, RunningJob
from mnemic.memory_map.making import make_map
from mnemic.memory_map.reading import MAP_JOB
from mnemic.runtime.core import Core
from mnemic.runtime.job_types import DefaultSchedule, JobTable, JobType


async def make_maps(core: Core, job: RunningJob) -> JsonValue:
    """`memories.map`: make the map of one owner, or of each owner with new memories or another model."""
    database = core.storage.tenant_database
    if job.owner is not None:
        return {"memory_count": await make_map(database, job.owner)}
    owner: str | None = None
    made_count = 0
    while True:
        async with database.transaction() as transaction:
            row = await transaction.first("curation.next_owner", {"after": owner})
        if row is None:
            return {"made_count": made_count}
        owner = str(row["owner"])
        if await make_map(database, owner, only_if_outdated=True) is not None:
            made_count += 1
            await job.report(done=made_count)


JOBS = JobTable((JobType(MAP_JOB, make_maps, DefaultSchedule("memory map")),))
