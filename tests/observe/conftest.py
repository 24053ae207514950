"""Fixtures for the tests of maintenance and metrics."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from mnemic.db.tenancy import Tenant
from mnemic.jobs.handlers import RunningJob
from mnemic.sdk.memory import AsyncMemory
from tests.two_tenants import foreign_memory, memory  # noqa: F401 (fixtures)

MakeJob = Callable[[str], RunningJob]


@pytest.fixture
def job(memory: AsyncMemory) -> RunningJob:  # noqa: F811 (a fixture)
    """A running job of tenant A."""
    return running_job(memory.tenant)


def running_job(tenant: Tenant, **payload: Any) -> RunningJob:
    return RunningJob(uuid4(), "maintenance.test", payload, None, 1, tenant)
