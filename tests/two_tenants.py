"""Fixtures for tests of the isolation of two tenants in one database."""

from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from mnemic.db.access import Access
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.many_writers import wide_database
from tests.opened import opened

CountRows = Callable[[], int]


@pytest.fixture
def memory(database: Database, tenant_a: Tenant) -> AsyncMemory:
    """Tenant A's memory, used for alice."""
    return opened(database, tenant_a)


@pytest.fixture
def tenant_database(database: Database, tenant_a: Tenant) -> TenantDatabase:
    """Tenant A's database, for functions below the memory."""
    return TenantDatabase(database, tenant_a)


@pytest.fixture
def foreign_memory(database: Database, tenant_b: Tenant) -> AsyncMemory:
    """Tenant B's memory, used for another alice."""
    return opened(database, tenant_b)


@pytest.fixture
async def wide_memory(access: Access, tenant_a: Tenant) -> AsyncIterator[AsyncMemory]:
    """Tenant A's memory with a connection for each of many writers."""
    async with wide_database(access) as database:
        yield opened(database, tenant_a)


def counter(admin: AppConnection, tables: Sequence[str]) -> CountRows:
    """Counts the rows that some tables of the schema state got since now, of all tenants."""
    counts = " + ".join(f"(SELECT count(*) FROM state.{table})" for table in tables)

    def count() -> int:
        (total,) = admin.execute(f"SELECT {counts}").fetchone() or (0,)
        return int(str(total))

    before = count()
    return lambda: count() - before
