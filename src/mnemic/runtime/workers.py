"""Which jobs Mnemic itself knows how to do, and how they get at the memory of their tenant."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.documents import jobs as ingest
from mnemic.embeddings import jobs as embedding
from mnemic.jobs.handlers import Handler, JsonValue, RunningJob
from mnemic.jobs.scheduler import tick
from mnemic.jobs.worker import DEFAULT_CONCURRENCY, Periodic, Worker
from mnemic.maintenance import jobs as maintenance
from mnemic.runtime.core import Core
from mnemic.runtime.storage import is_server
from mnemic.webhooks import delivery as webhooks

CoreHandler: TypeAlias = Callable[[Core, RunningJob], Awaitable[JsonValue]]

HANDLERS: dict[str, CoreHandler] = {
    "documents.ingest": ingest.ingest,
    "embeddings.backlog": embedding.make_up,
    "embeddings.change_model": embedding.change_model,
    "maintenance.cleanup": maintenance.clean_up,
    "maintenance.log_days": maintenance.turn_log_days,
    "maintenance.prune": maintenance.prune,
    "maintenance.snapshots": maintenance.take_snapshots,
    webhooks.DELIVER: webhooks.deliver,
}
"""Type of job → the function that does it, given what the memory of the job's tenant is made of."""

PERIODIC: tuple[Periodic, ...] = (tick, webhooks.fan_out_webhooks)
"""What every worker does once a second besides its jobs."""

CoreOf: TypeAlias = Callable[[Tenant], Awaitable[Core]]


def bound_handlers(core_of: CoreOf) -> dict[str, Handler]:
    """The handlers of all types; `core_of` finds what the memory of a tenant is made of."""
    return {type: partial(_handle, function, core_of) for type, function in HANDLERS.items()}


def tenants_worker(
    database: Database,
    core_of: CoreOf,
    *,
    concurrency: int = DEFAULT_CONCURRENCY,
    only_tenant: Tenant | None = None,
) -> Worker:
    """A worker for all tenants of an open place, or for one of them: run it, and stop it."""
    return Worker(
        database,
        bound_handlers(core_of),
        concurrency=concurrency,
        only_tenant=only_tenant,
        periodic=PERIODIC,
    )


def work_in_process(core: Core) -> None:
    """Let an open memory do its own jobs, if the settings allow it: by themselves only embedded ones do."""
    wanted = core.settings.worker
    if wanted is False or is_server(core.settings) or (wanted == "auto" and core.storage.server is None):
        return
    prepare(core)
    core.in_process_worker.watch(core.storage.database, core.tenant)


def prepare(core: Core) -> None:
    """Give the worker of a memory the jobs that Mnemic knows; those of the user are there already."""

    async def itself(_: Tenant) -> Core:
        return core

    for type, handler in bound_handlers(itself).items():
        core.in_process_worker.handlers.setdefault(type, handler)
    core.in_process_worker.periodic = PERIODIC


async def _handle(function: CoreHandler, core_of: CoreOf, job: RunningJob) -> JsonValue:
    return await function(await core_of(job.tenant), job)
