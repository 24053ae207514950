"""The queries behind `retain` find what they look for by an index, as the application's role."""

import pytest

from mnemic.sdk.memory import AsyncMemory
from mnemic.sql import query
from tests.conftest import AppConnection

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
    "owner": "alice",
    "external_indexes": [0],
    "external_ids": ["e"],
    "hash_indexes": [0],
    "hashes": [b"\0" * 32],
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
    memory: AsyncMemory, superuser: AppConnection, name: str, parameters: dict[str, object], indexes: set[str]
) -> None:
    await memory.retain_many(f"fact {number}" for number in range(2000))
    await memory.retain_many((f"turn {number}" for number in range(1000)), conversation="c")
    superuser.execute(SMALL_TENANTS)
    superuser.execute("ANALYZE state.memories")
    async with memory._core.place.tenant_database.transaction() as transaction:
        plan = await transaction.connection.execute(f"EXPLAIN {query(name)}".encode(), parameters)
        lines = [str(row["QUERY PLAN"]) for row in await plan.fetchall()]
    used = {word for line in lines for word in line.split() if word in indexes}
    assert used == indexes, "\n".join(lines)
    assert not any("Seq Scan on memories" in line for line in lines), "\n".join(lines)
