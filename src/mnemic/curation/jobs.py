"""The daily job of the curator: propose changes for every owner of the tenant.

It only stages, unless an owner's policy or the payload of the schedule says otherwise: the payload
`{"automatic": ["archive"]}` applies proposals of this kind for all owners.
"""

from mnemic.curation.deciding import propose_and_apply
from mnemic.curation.proposing import PROPOSALS_MAX
from mnemic.errors import PermanentJobError
from mnemic.jobs.handlers import JsonValue, RunningJob
from mnemic.runtime.core import Core
from mnemic.runtime.job_types import DefaultSchedule, JobTable, JobType
from mnemic.types.curation import CURATION_KINDS
from mnemic.types.scope import Scope

PROPOSE = "curation.propose"
CHANNEL = "_global"
PROCESS = "curator"


async def propose_for_all(core: Core, job: RunningJob) -> JsonValue:
    """`curation.propose`: a run of the curator for each owner. Repeating it proposes nothing twice."""
    database = core.storage.tenant_database
    automatic = _automatic_kinds(job)
    owner: str | None = None
    owner_count = proposed_count = applied_count = 0
    while True:
        async with database.transaction() as transaction:
            row = await transaction.first("curation.next_owner", {"after": owner})
        if row is None:
            break
        owner = str(row["owner"])
        run = await propose_and_apply(
            database,
            Scope(owner, CHANNEL, PROCESS),
            kinds=CURATION_KINDS,
            limit=PROPOSALS_MAX,
            dry_run=False,
            automatic_kinds=automatic,
        )
        owner_count += 1
        proposed_count += len(run.changes)
        applied_count += run.applied_count
        await job.report(done=owner_count)
    return {"owner_count": owner_count, "proposed_count": proposed_count, "applied_count": applied_count}


def _automatic_kinds(job: RunningJob) -> list[str]:
    kinds = job.payload.get("automatic", [])
    if not isinstance(kinds, list) or not set(map(str, kinds)) <= set(CURATION_KINDS):
        raise PermanentJobError(f"automatic must be a list of some of: {', '.join(CURATION_KINDS)}.")
    return kinds


JOBS = JobTable((JobType(PROPOSE, propose_for_all, DefaultSchedule("curation")),))
