"""What the tests of the mind share."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from uuid import UUID

import pytest

from mnemic.db.access import Access
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.identity import new_id
from tests.conftest import AppConnection
from tests.many_writers import wide_database
from tests.opened import opened

CountRows = Callable[[], int]
WriteMemories = Callable[..., Awaitable[list[UUID]]]

TABLES = (
    "entities",
    "entity_names",
    "entity_facts",
    "entity_relations",
    "memory_entities",
    "archived_entities",
    "triples",
)

INSERT_MEMORIES = """
INSERT INTO state.memories (tenant_id, memory_id, owner, channel, process, content, category, source)
SELECT %s, given.memory_id, %s, '_global', 'test', given.content, 'factual', 'imported'
FROM unnest(%s::uuid[], %s::text[]) AS given (memory_id, content)
"""


@pytest.fixture
def memory(database: Database, tenant_a: Tenant) -> AsyncMemory:
    """Tenant A's memory, used for alice."""
    return opened(database, tenant_a)


@pytest.fixture
def foreign_memory(database: Database, tenant_b: Tenant) -> AsyncMemory:
    """Tenant B's memory, used for another alice."""
    return opened(database, tenant_b)


@pytest.fixture
async def wide_memory(access: Access, tenant_a: Tenant) -> AsyncIterator[AsyncMemory]:
    """Tenant A's memory with a connection for each of many writers."""
    async with wide_database(access) as database:
        yield opened(database, tenant_a)


@pytest.fixture
def tenant_database(database: Database, tenant_a: Tenant) -> TenantDatabase:
    return TenantDatabase(database, tenant_a)


@pytest.fixture
def write_memories(admin: AppConnection, tenant_a: Tenant) -> WriteMemories:
    """Stores texts as memories, behind Mnemic's back and so without links; returns their ids."""

    async def write(texts: Sequence[str], *, owner: str = "alice", tenant: Tenant = tenant_a) -> list[UUID]:
        ids = [new_id() for _ in texts]
        admin.execute(INSERT_MEMORIES, (tenant.id, owner, ids, list(texts)))
        return ids

    return write


@pytest.fixture
def count_rows(admin: AppConnection) -> CountRows:
    """Counts what all tables of entities and triples hold, of all tenants."""
    counts = " + ".join(f"(SELECT count(*) FROM state.{table})" for table in TABLES)

    def count() -> int:
        (total,) = admin.execute(f"SELECT {counts}").fetchone() or (0,)
        return int(str(total))

    return count
