"""Job types: the table in which each feature declares its jobs, their handlers and default schedules.

A feature package has a table `JOBS` in its module `jobs.py`. `mnemic.sdk.job_table` combines these tables,
and `Core` is given the result. So the runtime runs the jobs of all features without importing any of them.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from mnemic.db.tenancy import Tenant
from mnemic.jobs.handlers import Handler, JsonValue, RunningJob
from mnemic.jobs.worker import Periodic

if TYPE_CHECKING:
    from mnemic.runtime.core import Core

DAY_S = 24 * 60 * 60

CoreHandler: TypeAlias = "Callable[[Core, RunningJob], Awaitable[JsonValue]]"
"""A handler of a feature: it gets the core of the job's tenant, and the job."""
CoreOf: TypeAlias = "Callable[[Tenant], Awaitable[Core]]"
"""Finds the core of a tenant."""


@dataclass(frozen=True)
class DefaultSchedule:
    """A schedule that every tenant gets once, when it is opened. The tenant may then change or delete it.

    The first run is at a time of day that depends on the tenant, so that many tenants do not all run at once.
    """

    name: str
    every_s: int = DAY_S


@dataclass(frozen=True)
class JobType:
    """A type of job, the function that runs it, and its default schedule if it has one."""

    type: str
    handler: CoreHandler
    default_schedule: DefaultSchedule | None = None


@dataclass(frozen=True)
class JobTable:
    """Job types, and periodic functions that every worker calls once a second besides its jobs.

    Types and names of default schedules are unique: ValueError names those that are not.
    """

    types: tuple[JobType, ...] = ()
    periodic: tuple[Periodic, ...] = ()

    def __post_init__(self) -> None:
        """Refuse duplicates."""
        _require_unique("job type", (job_type.type for job_type in self.types))
        _require_unique("default schedule", (default.name for default, _ in self.default_schedules))

    @property
    def default_schedules(self) -> tuple[tuple[DefaultSchedule, str], ...]:
        """All default schedules, each with the job type that it enqueues."""
        return tuple(
            (job_type.default_schedule, job_type.type)
            for job_type in self.types
            if job_type.default_schedule is not None
        )

    def handlers(self, core_of: CoreOf) -> dict[str, Handler]:
        """Handlers by job type, which look up the core of a job's tenant by `core_of`."""
        return {job_type.type: partial(_handle, job_type.handler, core_of) for job_type in self.types}


def combine(*tables: JobTable) -> JobTable:
    """One table with the job types and periodic functions of all; ValueError if two declare the same."""
    return JobTable(
        tuple(job_type for table in tables for job_type in table.types),
        tuple(function for table in tables for function in table.periodic),
    )


async def _handle(handler: CoreHandler, core_of: CoreOf, job: RunningJob) -> JsonValue:
    return await handler(await core_of(job.tenant), job)


def _require_unique(kind: str, names: Iterable[str]) -> None:
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise ValueError(f"declared more than once as a {kind}: {', '.join(repeated)}")
