"""The daily clean-up finds its memories by index in a large table."""

from typing import Any

import psycopg
import pytest

from mnemic.db.tenancy import Tenant
from mnemic.sql import query
from tests.conftest import AppConnection, ConnectAs

MANY = """
INSERT INTO state.memories (
    tenant_id, owner, channel, process, content, category, source, expires_at, salience
)
SELECT %s, 'alice', '_global', 'test', 'memory ' || number, 'factual', 'imported',
    CASE WHEN number %% 500 = 0 THEN now() - interval '1 hour' END,
    CASE WHEN number %% 500 = 1 THEN 0.05 ELSE 0.5 END
FROM generate_series(1, 5000) AS number
"""


@pytest.mark.parametrize(
    ("name", "index"),
    [("housekeeping.expired", "memories_expiring"), ("housekeeping.faint", "memories_faint")],
)
def test_the_clean_up_uses_an_index(
    connect_as: ConnectAs, tenant_a: Tenant, admin: AppConnection, name: str, index: str
) -> None:
    admin.execute(MANY, [tenant_a.id])
    admin.execute("ANALYZE state.memories")
    connection: psycopg.Connection[Any] = connect_as(tenant_a)
    parameters = {"tenant_id": tenant_a.id, "limit": 1000, "unused_days": 30}
    plan = connection.execute(f"EXPLAIN {query(name)}", parameters).fetchall()
    text = "\n".join(line for (line,) in plan)
    assert f"using {index} on" in text
    assert "Seq Scan" not in text
