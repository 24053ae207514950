"""Workers for the jobs of all features: one for many tenants, or one inside the process of a memory."""

from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.jobs.scheduler import tick
from mnemic.jobs.worker import DEFAULT_CONCURRENCY, Worker
from mnemic.runtime.core import Core
from mnemic.runtime.job_types import CoreOf, JobTable
from mnemic.runtime.storage import uses_http


def tenants_worker(
    database: Database,
    core_of: CoreOf,
    jobs: JobTable,
    *,
    concurrency: int = DEFAULT_CONCURRENCY,
    only_tenant: Tenant | None = None,
) -> Worker:
    """A worker for all tenants of an open database, or for one of them. The caller runs and stops it."""
    return Worker(
        database,
        jobs.handlers(core_of),
        concurrency=concurrency,
        only_tenant=only_tenant,
        periodic=(tick, *jobs.periodic),
    )


def work_in_process(core: Core) -> None:
    """Let an open memory run its own jobs if the settings allow it; "auto" means on the embedded server."""
    wanted = core.settings.worker
    if wanted is False or uses_http(core.settings) or (wanted == "auto" and core.storage.server is None):
        return
    core.in_process_worker.watch(core.storage.database, core.tenant)
