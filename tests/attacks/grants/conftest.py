"""Memories of two tenants, and a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.sdk.memory import AsyncMemory
from tests.opened import opened
from tests.running_folder import running
from tests.server.running import RunningServer, running_server
from tests.two_tenants import foreign_memory, memory, wide_memory  # noqa: F401 (fixtures)


@pytest.fixture
def own_database() -> bool:
    """No: the attacks are on two tenants only."""
    return False


@pytest.fixture
def tenant_memory(database: Database, tenant_a: Tenant) -> AsyncMemory:
    """The memory of the whole tenant, as an administrator has it."""
    return opened(database, tenant_a, owner=None)


@pytest.fixture(scope="session")
def http_folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder whose PostgreSQL runs all the time."""
    yield from running(memory_dir / "grants")


@pytest.fixture(scope="session")
def http_server(http_folder: Path) -> Iterator[RunningServer]:
    """A server, for attacks by API keys."""
    with running_server(http_folder) as server:
        yield server
