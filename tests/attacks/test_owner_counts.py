"""Attacks on the counts of owners and on exports: other tenants' names, forged counts, costly lists."""

from collections.abc import Callable
from uuid import uuid4

import psycopg
import pytest

from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.govern import owner_counts
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection, ConnectAs
from tests.opened import opened

Spy = Callable[[str], list[tuple[object, ...]]]

FILL = """
    INSERT INTO state.memories (tenant_id, owner, channel, process, content, category, source)
    SELECT %s, 'owner ' || number %% 100, '_global', 'test', 'memory ' || number, 'factual', 'imported'
    FROM generate_series(1, 20000) AS number
"""


@pytest.fixture
async def foreign(database: Database, tenant_b: Tenant) -> AsyncMemory:
    """Tenant B's memory, with an owner whose name is a secret."""
    memory = opened(database, tenant_b, owner=None)
    await memory.retain("Tea", owner="secret name")
    assert len(await memory.admin.owner_counts()) == 1
    return memory


@pytest.fixture
def spy(connect_as: ConnectAs, tenant_a: Tenant) -> Spy:
    """Runs a statement in a transaction of tenant A."""
    connection = connect_as(tenant_a)

    def run(statement: str) -> list[tuple[object, ...]]:
        with connection.transaction():
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    return run


async def test_names_and_counts_of_other_tenants_are_not_seen_or_changed(
    foreign: AsyncMemory, spy: Spy, admin: AppConnection
) -> None:
    assert spy("SELECT * FROM traces.owner_counts") == []
    spy("UPDATE traces.owner_counts SET memory_count = 0")
    assert admin.execute("SELECT memory_count FROM traces.owner_counts").fetchall() == [(1,)]


async def test_injected_sql_forges_and_hides_no_owner(
    foreign: AsyncMemory, spy: Spy, tenant_a: Tenant
) -> None:
    for statement in (
        "INSERT INTO traces.owner_counts (tenant_id, owner, last_activity_at)"
        f" VALUES ('{tenant_a.id}', 'x', now())",
        "DELETE FROM traces.owner_counts",
        "UPDATE traces.owner_counts SET owner = 'x'",
        "UPDATE traces.owner_counts SET last_activity_at = now()",
        "UPDATE traces.owner_counts SET changed_position = 0",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            spy(statement)


async def test_receipts_of_other_tenants_are_not_found(foreign: AsyncMemory, spy: Spy) -> None:
    receipt = await foreign.admin.erase("secret name")
    assert spy(f"SELECT * FROM traces.audit_log WHERE target = '{receipt.receipt_id}'") == []


async def test_a_list_counts_a_bounded_number_of_memories(
    database: Database, tenant_a: Tenant, admin: AppConnection
) -> None:
    """However many owners changed, one call counts some of them; calling again is no attack."""
    memory = opened(database, tenant_a, owner=None)
    admin.execute(FILL, [tenant_a.id])
    await memory.admin.count_owners()
    for number in range(100):
        await memory.state.set(str(uuid4()), number, owner=f"owner {number}")
    counted = [
        each.is_current for each in await memory.admin.owner_counts(limit=200) if each.memory_count == 200
    ]
    assert len(counted) == 100
    assert 0 < sum(counted) <= owner_counts.SMALL_MAX_TOTAL // 200
