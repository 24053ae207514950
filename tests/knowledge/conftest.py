"""Fixtures of the tests of entities and triples."""

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

import pytest

from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.types.identity import new_id
from tests.conftest import AppConnection
from tests.two_tenants import (  # noqa: F401 (fixtures)
    CountRows,
    counter,
    foreign_memory,
    memory,
    wide_memory,
)

WriteMemories = Callable[..., Awaitable[list[UUID]]]

TABLES = (
    "entities",
    "entity_names",
    "entity_facts",
    "entity_relations",
    "removed_relations",
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
def own_database() -> bool:
    """No: the tests look at their own tenants only."""
    return False


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
    return counter(admin, TABLES)
