"""Give a tenant the default schedules of all features, each once.

The tenant's row lists the defaults that it has been given, and opening the tenant reads that list anyway. So
opening costs a statement more only when a feature has declared a new default. A schedule that the tenant has
deleted stays on the list and does not come back.
"""

from mnemic.db.database import TenantDatabase
from mnemic.runtime.job_types import JobTable


async def give_default_schedules(database: TenantDatabase, jobs: JobTable) -> None:
    """Add the default schedules that the tenant has never been given."""
    given, declared = database.tenant.default_schedules, jobs.default_schedules
    if given is not None and given.issuperset(default.name for default, _ in declared):
        return
    parameters = {
        "tenant_id": database.tenant.id,
        "names": [default.name for default, _ in declared],
        "job_types": [job_type for _, job_type in declared],
        "every_s": [default.every_s for default, _ in declared],
    }
    async with database.transaction() as transaction:
        await transaction.execute("schedules.give_defaults", parameters)
