"""The queries of the map use indexes, under row-level security and at a size where that matters."""

from typing import Any
from uuid import UUID

import pytest

from mnemic.db.tenancy import Tenant
from mnemic.sql import query
from tests.conftest import AppConnection, ConnectAs

ROWS = 4_000
SOME_ID = UUID(int=7)

FILL = """
INSERT INTO state.memories (tenant_id, owner, channel, process, content, category, source)
SELECT %(tenant)s, 'owner ' || n %% 20, '_global', 'test', 'text ' || n, 'factual', 'imported'
FROM generate_series(1, %(rows)s) AS n;
INSERT INTO state.recall_counts (tenant_id, memory_id, retrieval_count)
SELECT tenant_id, memory_id, 1 FROM state.memories;
INSERT INTO vectors.memory_positions (tenant_id, memory_id, owner, model, x, y, region, place, made_at)
SELECT tenant_id, memory_id, owner, 'm', 0, 0, 1, row_number() OVER (PARTITION BY owner), now()
FROM state.memories;
INSERT INTO queue.jobs (tenant_id, owner, type, payload, priority, state, max_attempts)
SELECT %(tenant)s, 'owner ' || n %% 20, 'other.' || n %% 50, '{}', 0, 'waiting', 5
FROM generate_series(1, %(rows)s) AS n;
INSERT INTO vectors.map_regions (tenant_id, owner, region, x, y, words, memory_id)
SELECT tenant_id, owner, place, 0, 0, ARRAY['text'], memory_id FROM vectors.memory_positions
"""

ME: dict[str, Any] = {
    "owner": "owner 1",
    "limit": 50,
    "region": None,
    "categories": None,
    "text_max": 80,
    "read_max": 400,
    "type": "memories.map",
    "model": "m",
    "memory_ids": [SOME_ID],
}
PLANS: list[tuple[str, set[str]]] = [
    ("memory_map.points", {"memory_positions_place", "memories_"}),
    ("memory_map.counts", {"memory_positions_place", "memories_"}),
    ("memory_map.regions", {"map_regions_pkey", "memory_positions_place", "memories_"}),
    ("memory_map.state", {"memory_positions_place", "jobs_waiting", "jobs_running", "jobs_scheduled"}),
    ("memory_map.is_current", {"memory_positions_pkey", "memories_recent"}),
    ("memory_map.hold", {"memories_"}),
    ("memory_map.delete_positions", {"memory_positions_place"}),
    ("memory_map.delete_regions", {"map_regions_pkey"}),
]


@pytest.fixture
def filled(admin: AppConnection, tenant_a: Tenant) -> Tenant:
    for statement in FILL.split(";\n"):
        admin.execute(statement.encode(), {"tenant": tenant_a.id, "rows": ROWS})
    admin.execute("VACUUM ANALYZE")
    return tenant_a


def test_queries_of_the_map_use_an_index(filled: Tenant, connect_as: ConnectAs) -> None:
    connection = connect_as(filled)
    for name, indexes in PLANS:
        rows = connection.execute(f"EXPLAIN {query(name)}", {**ME, "tenant_id": filled.id}).fetchall()
        plan = "\n".join(str(row[0]) for row in rows)
        for table in ("memory_positions", "memories", "recall_counts"):
            assert f"Seq Scan on {table}" not in plan, f"{name}\n{plan}"
        for index in indexes:
            assert f"using {index}" in plan or f"on {index}" in plan, f"{name} lacks {index}\n{plan}"
