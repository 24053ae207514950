"""What the tests of schedules share."""

from collections.abc import Callable
from datetime import datetime

import pytest

from mnemic.db.access import Access
from mnemic.db.tenancy import Tenant
from tests.conftest import AppConnection
from tests.two_tenants import foreign_memory, memory  # noqa: F401 (fixtures)

TickAt = Callable[[datetime], int]
JobsOf = Callable[[Tenant], list[str]]


@pytest.fixture
def tick_at(admin: AppConnection) -> TickAt:
    """Ticks as if it were another time, as the owner of the tables may."""

    def tick(moment: datetime) -> int:
        (ticked,) = admin.execute("SELECT mnemic.run_due_schedules(%s)", [moment]).fetchone() or (0,)
        return int(str(ticked))

    return tick


@pytest.fixture
def jobs_of(admin: AppConnection) -> JobsOf:
    """The keys of a tenant's jobs, in the order in which they were added."""

    def jobs(tenant: Tenant) -> list[str]:
        found = admin.execute("SELECT key FROM queue.jobs WHERE tenant_id = %s ORDER BY job_id", [tenant.id])
        return [str(key) for (key,) in found.fetchall()]

    return jobs


@pytest.fixture
def app_login(access: Access) -> str:
    """How the application itself connects."""
    return access.conninfo()
