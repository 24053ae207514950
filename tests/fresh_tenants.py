"""Fixtures for tests of the record: the shared database, and a new tenant for each test.

Creating a tenant takes a millisecond, a clone of the template with new connections a hundred. Tests that look
at a whole database (how many rows it has, whether it contains a name) use the `database` of
`tests/conftest.py` instead.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from uuid import UUID, uuid4

import psycopg
import pytest

from mnemic.db.database import Database, TenantDatabase
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.opened import opened

OpenMemory = Callable[..., Awaitable[AsyncMemory]]


@pytest.fixture(scope="session")
def superuser(server: EmbeddedServer, shared_database_name: str) -> Iterator[AppConnection]:
    """The superuser's connection to the shared database, in autocommit mode."""
    conninfo = server.conninfo(user=ADMIN_ROLE, dbname=shared_database_name)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield connection


@pytest.fixture
async def open_memory(shared_database: Database) -> AsyncIterator[OpenMemory]:
    """Opens a memory with the test model, in a fresh tenant unless one is named, and closes it in the end."""
    memories: list[AsyncMemory] = []

    async def open_one(tenant_name: str | None = None, **options: object) -> AsyncMemory:
        tenant = await shared_database.open_tenant(tenant_name or f"tenant {uuid4()}")
        memories.append(opened(shared_database, tenant, **{"embedder": "test", **options}))  # type: ignore[arg-type]
        return memories[-1]

    yield open_one
    for memory in memories:
        await memory.aclose()


@pytest.fixture
async def memory(open_memory: OpenMemory) -> AsyncMemory:
    """Alice's memory in a tenant of its own."""
    return await open_memory()


@pytest.fixture
def tenant_database(shared_database: Database, memory: AsyncMemory) -> TenantDatabase:
    """The database of Alice's tenant, for functions below the memory."""
    return TenantDatabase(shared_database, memory.tenant)


class Rows:
    """Reads rows as the superuser."""

    def __init__(self, superuser: AppConnection) -> None:
        self._superuser = superuser

    def select(self, statement: str, *parameters: object) -> list[tuple[object, ...]]:
        return self._superuser.execute(statement.encode(), parameters).fetchall()

    def named(self, statement: str, parameters: dict[str, object]) -> list[tuple[object, ...]]:
        return self._superuser.execute(statement.encode(), parameters).fetchall()

    def run(self, statement: str) -> None:
        self._superuser.execute(statement.encode())

    def value(self, statement: str, *parameters: object) -> object:
        ((value,),) = self.select(statement, *parameters)
        return value

    def counts(self, tenant_id: UUID) -> dict[str, int]:
        """The number of the tenant's rows per table, without its default schedules."""
        tables = [str(name) for (name,) in self.select(_TENANT_TABLES)]
        of_tenant = f"WHERE tenant_id = '{tenant_id}'"
        parts = (
            f"SELECT '{name}', count(*) FROM {name} {of_tenant} {_WITHOUT_DEFAULTS.get(name, '')}"
            for name in tables
        )
        counted = self.select(" UNION ALL ".join(parts))
        return {str(name): int(str(count)) for name, count in counted if count}


_WITHOUT_DEFAULTS = {"queue.schedules": "AND owner IS NOT NULL"}
_TENANT_TABLES = """
    SELECT pg_class.oid::regclass::text
    FROM pg_class
    JOIN pg_namespace ON pg_namespace.oid = relnamespace
    JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'tenant_id'
    WHERE nspname IN ('mnemic', 'state', 'vectors', 'traces', 'queue')
      AND relkind IN ('r', 'p') AND NOT relispartition AND pg_class.oid <> 'state.tenants'::regclass
    ORDER BY 1
"""


@pytest.fixture
def rows(superuser: AppConnection) -> Rows:
    return Rows(superuser)


def contents(records: Sequence[object]) -> list[str]:
    """The texts of memories, in their order."""
    return [record.content for record in records]  # type: ignore[attr-defined]


def vector_of(rows: Rows, memory_id: UUID, model: str = "test:hash-64") -> str | None:
    """The vector that a memory has in a model's table, as text, or None."""
    tables = rows.select("SELECT table_name FROM mnemic.vector_models WHERE model = %s", model)
    if not tables:
        return None
    ((table,),) = tables
    found = rows.select(
        f"SELECT vector.embedding::text FROM vectors.{table} AS vector"
        " JOIN state.memories USING (tenant_id, memory_id, owner) WHERE memory_id = %s",
        memory_id,
    )
    return str(found[0][0]) if found else None
