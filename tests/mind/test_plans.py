"""The queries of goals, strategies and working memory use an index, under row-level security."""

from typing import Any
from uuid import UUID

import pytest

from mnemic.db.tenancy import Tenant
from mnemic.sql import query
from tests.conftest import AppConnection, ConnectAs

ROWS = 2_000
SOME_ID = UUID(int=7)

FILL = """
INSERT INTO state.memories (tenant_id, owner, channel, process, content, category, source)
SELECT %(tenant)s, 'owner ' || n %% 5, '_global', 'test', 'text ' || n, 'prospective', 'imported'
FROM generate_series(1, %(rows)s) AS n;
INSERT INTO state.goals (tenant_id, memory_id, owner, status)
SELECT tenant_id, memory_id, owner, CASE WHEN random() < 0.1 THEN 'active' ELSE 'completed' END
FROM state.memories;
INSERT INTO state.goal_blockers (tenant_id, owner, goal_id, blocked_by)
SELECT tenant_id, owner, memory_id, next_id FROM (
    SELECT *, lead(memory_id) OVER (PARTITION BY owner ORDER BY memory_id) AS next_id FROM state.memories
) AS pairs WHERE next_id IS NOT NULL;
INSERT INTO state.strategies (tenant_id, memory_id, owner, task, is_mined)
SELECT tenant_id, memory_id, owner, 'a task', random() < 0.1 FROM state.memories;
INSERT INTO state.strategy_uses (tenant_id, owner, strategy_id, succeeded)
SELECT tenant_id, owner, memory_id, true FROM state.strategies, generate_series(1, 3);
INSERT INTO state.working_items (tenant_id, owner, channel, kind, key, value, expires_at)
SELECT %(tenant)s, 'owner ' || n, '_global', 'value', 'key ' || n, '1', now() + n * interval '1 minute'
FROM generate_series(1, %(rows)s) AS n
"""

ME: dict[str, Any] = {"owner": "owner 1", "limit": 10}
PLACE = {"channel": "_global", "conversation": "", "kind": None, "key": None}
CURSOR = {"after_id": None, "after_deadline": None, "after_priority": None}
OPEN = ["active", "blocked"]
PLANS: list[tuple[str, dict[str, Any], set[str]]] = [
    ("goals.get", {"goal_id": SOME_ID}, {"goals_pkey", "memories_pkey", "goal_blockers_pkey"}),
    (
        "goals.list",
        {
            "statuses": OPEN,
            "stored_statuses": OPEN,
            "channels": ["_global"],
            "due_before": None,
            "parent_id": None,
            **CURSOR,
        },
        {"goals_open", "goal_blockers_pkey"},
    ),
    ("goals.count_open", {}, {"goals_open"}),
    ("goals.waits_for", {"goal_id": SOME_ID, "searched_id": SOME_ID}, {"goal_blockers_pkey"}),
    ("strategies.get", {"strategy_id": SOME_ID}, {"strategies_", "strategy_uses_of_strategy"}),
    ("strategies.uses", {"strategy_id": SOME_ID}, {"strategy_uses_of_strategy"}),
    ("working.list", PLACE, {"working_items_pkey"}),
    ("working.prune", {}, {"working_items_expiry"}),
]


@pytest.fixture
def own_database() -> bool:
    """Yes: the tests look at a whole database."""
    return True


@pytest.fixture
def filled(admin: AppConnection, tenant_a: Tenant) -> Tenant:
    for statement in FILL.split(";\n"):
        admin.execute(statement, {"tenant": tenant_a.id, "rows": ROWS})
    admin.execute("VACUUM ANALYZE")
    return tenant_a


def test_hot_queries_use_an_index(filled: Tenant, connect_as: ConnectAs) -> None:
    connection = connect_as(filled)
    for name, parameters, indexes in PLANS:
        rows = connection.execute(
            f"EXPLAIN {query(name)}", {**ME, "tenant_id": filled.id, **parameters}
        ).fetchall()
        plan = "\n".join(str(row[0]) for row in rows)
        # Nothing is hidden in branches here, and an empty table is not worth an index scan.
        assert "Seq Scan" not in plan.replace("Seq Scan on branch_tombstones", ""), f"{name}\n{plan}"
        for index in indexes:
            assert f"using {index}" in plan or f"on {index}" in plan, f"{name} lacks {index}\n{plan}"
