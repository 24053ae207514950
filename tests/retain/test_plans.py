"""The queries of the write path use their indexes, as the role of the application."""

from uuid import uuid4

import pytest

from mnemic.db.database import TenantDatabase
from mnemic.sdk.memory import AsyncMemory
from mnemic.sql import query
from tests.conftest import AppConnection
from tests.fresh_tenants import OpenMemory, Rows
from tests.opened import core_of
from tests.unsteady_engine import Unsteady

# Many tenants with a memory each make the planner believe that every tenant, and every owner, has few.
SMALL_TENANTS = """
    WITH small AS (
        INSERT INTO state.tenants (name) SELECT 'small ' || gen_random_uuid() FROM generate_series(1, 500)
        RETURNING tenant_id
    )
    INSERT INTO state.memories (tenant_id, owner, channel, process, content, category, source)
    SELECT tenant_id, 'bob', '_global', 'test', 'a fact', 'factual', 'imported' FROM small
"""
KNOWN = {
    "channel": "project",
    "owner": "alice",
    "external_indexes": [0],
    "external_ids": ["e"],
    "hash_indexes": [0],
    "hashes": "00" * 32,
}


@pytest.mark.parametrize(
    ("name", "parameters", "indexes"),
    [
        ("retain.known", KNOWN, {"memories_content", "memories_external"}),
        (
            "conversations.turns",
            {"owner": "alice", "conversation": "c", "from_position": 0, "limit": 9},
            {"memories_turn"},
        ),
        ("conversations.recent_of", {"owner": "alice", "conversation": "c", "limit": 9}, {"memories_turn"}),
    ],
)
async def test_a_hot_query_uses_its_index(
    memory: AsyncMemory,
    superuser: AppConnection,
    name: str,
    parameters: dict[str, object],
    indexes: set[str],
    tenant_database: TenantDatabase,
) -> None:
    await memory.retain_many(f"fact {number}" for number in range(2000))
    await memory.retain_many((f"turn {number}" for number in range(1000)), conversation="c")
    superuser.execute(SMALL_TENANTS)
    superuser.execute("ANALYZE state.memories")
    async with tenant_database.transaction() as transaction:
        plan = await transaction.connection.execute(
            f"EXPLAIN {query(name)}".encode(), {"tenant_id": memory.tenant.id, **parameters}
        )
        lines = [str(row["QUERY PLAN"]) for row in await plan.fetchall()]
    used = {word for line in lines for word in line.split() if word in indexes}
    assert used == indexes, "\n".join(lines)
    assert not any("Seq Scan on memories" in line for line in lines), "\n".join(lines)


@pytest.mark.parametrize(("side", "order"), [("<", "DESC"), (">", "ASC")])
async def test_neighbouring_vectors_are_read_by_index_without_statistics(
    open_memory: OpenMemory, rows: Rows, side: str, order: str
) -> None:
    """The reads of `mnemic.find_near_duplicates`, for each pending memory.

    The owner has thousands of vectors and the planner estimates two: it must not read and sort them all. It
    takes a table of a thousand pages to make it estimate two instead of one, so vectors are long here.
    """
    engine = Unsteady(960, name=f"test:{uuid4()}")
    memory = await open_memory(embedder=engine)
    await memory.retain_many(f"fact {number}" for number in range(4000))
    table = rows.value("SELECT table_name FROM mnemic.vector_models WHERE model = %s", engine.name)
    near = (
        "EXPLAIN SELECT * FROM unnest(ARRAY[gen_random_uuid(), gen_random_uuid()]) AS given (memory_id)"
        f" CROSS JOIN LATERAL (SELECT * FROM vectors.{table} AS near"
        f" WHERE owner = 'alice' AND near.memory_id {side} given.memory_id"
        f" ORDER BY near.memory_id {order} LIMIT 2000) AS near"
    )
    async with core_of(memory).storage.tenant_database.transaction() as transaction:
        plan = await transaction.connection.execute(near.encode())
        lines = [str(row["QUERY PLAN"]) for row in await plan.fetchall()]
    assert any("Index Scan" in line for line in lines), "\n".join(lines)
    assert not any("Sort" in line for line in lines), "\n".join(lines)
