"""What the tests of the audit log, the memory log and the grants share."""

from collections.abc import AsyncIterator

import pytest

from mnemic.db.access import Access
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.types.scope import Scope
from tests.many_writers import wide_database
from tests.two_tenants import foreign_memory, memory, wide_memory  # noqa: F401 (fixtures)

ALICE = Scope(owner="alice", channel="_global", process="tests")
BOB = Scope(owner="bob", channel="_global", process="tests")
NOBODY = Scope(owner=None, channel="_global", process="tests")


@pytest.fixture
def own_database() -> bool:
    """No: the tests look at their own tenants only."""
    return False


@pytest.fixture
def place_a(database: Database, tenant_a: Tenant) -> TenantDatabase:
    """The test's database as tenant A sees it."""
    return TenantDatabase(database, tenant_a)


@pytest.fixture
def place_b(database: Database, tenant_b: Tenant) -> TenantDatabase:
    """The test's database as tenant B sees it."""
    return TenantDatabase(database, tenant_b)


@pytest.fixture
async def wide_a(access: Access, tenant_a: Tenant) -> AsyncIterator[TenantDatabase]:
    """The same as tenant A sees it, with a connection for each of many writers."""
    async with wide_database(access) as database:
        yield TenantDatabase(database, tenant_a)
