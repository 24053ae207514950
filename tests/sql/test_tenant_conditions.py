"""Every named query names the tenant of each table that it reads, so that it can be sent to a shard.

Row-level security adds the same condition, but in the server that holds the rows; a router needs the tenant
in the statement. The test looks at the plans of a superuser, to whom no policy applies: each scan of a table
that has a `tenant_id` has a condition on it.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mnemic.sql import queries
from tests.conftest import AppConnection
from tests.sql.test_queries import is_utility, prepared

FIRST_WITH_GENERIC_PLAN = 160_000

# Queries that read tables of tenants without naming a tenant, and why.
EXCEPTIONS = {
    "session.find_tenant": "looks for the tenant",
    "tenants.list": "lists all tenants, for an administrator",
    "tenants.lock": "looks for the tenant by its name",
    "housekeeping.take_snapshots": "reads the overviews, which count all rows that the policies show",
}
_CONDITIONS = ("Index Cond", "Recheck Cond", "Filter", "Hash Cond", "Merge Cond", "Join Filter")


@pytest.fixture(autouse=True)
def _explains_generic_plans(shared_admin: AppConnection) -> None:
    if shared_admin.info.server_version < FIRST_WITH_GENERIC_PLAN:
        pytest.skip("needs EXPLAIN (GENERIC_PLAN), of PostgreSQL 16")


@pytest.fixture
def tenant_tables(shared_admin: AppConnection) -> set[str]:
    """Tables that hold rows of tenants."""
    rows = shared_admin.execute(
        "SELECT attrelid::regclass::text FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid"
        " WHERE attname = 'tenant_id' AND relkind IN ('r', 'p')"
        " AND relnamespace::regnamespace::text IN ('state', 'vectors', 'traces', 'queue')"
    )
    return {str(name) for (name,) in rows.fetchall()}


def test_every_query_names_the_tenant_of_what_it_reads(
    shared_admin: AppConnection, tenant_tables: set[str]
) -> None:
    assert "state.memories" in tenant_tables
    shared_admin.execute("SET search_path = pg_catalog, pg_temp")
    found = {
        name: scans
        for name, text in queries().items()
        if not is_utility(name) and (scans := list(open_scans(plan_of(shared_admin, text), tenant_tables)))
    }
    assert found.keys() - EXCEPTIONS.keys() == set(), found
    assert EXCEPTIONS.keys() <= found.keys(), "these need no exception any more"


def test_a_query_without_the_tenant_would_be_noticed(
    shared_admin: AppConnection, tenant_tables: set[str]
) -> None:
    text = (
        "SELECT FROM state.memories JOIN state.entities USING (owner)"
        " WHERE memories.tenant_id = %(tenant_id)s"
    )
    assert list(open_scans(plan_of(shared_admin, text), tenant_tables)) == ["state.entities"]


def plan_of(connection: AppConnection, text: str) -> dict[str, Any]:
    """The plan of a query for any parameters."""
    statement = f"EXPLAIN (GENERIC_PLAN, VERBOSE, FORMAT JSON) {prepared(text)}"
    row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    plans = json.loads(row[0]) if isinstance(row[0], str) else row[0]
    assert isinstance(plans, list)
    return dict(plans[0]["Plan"])


def open_scans(plan: dict[str, Any], tenant_tables: set[str], above: tuple[str, ...] = ()) -> Iterator[str]:
    """Tables that are scanned without a condition on their tenant, in the scan or in a join above it."""
    conditions = (*above, *(str(plan[key]) for key in _CONDITIONS if key in plan))
    table = f"{plan.get('Schema')}.{plan.get('Relation Name')}"
    parts = plan.get("Plans", [])
    if table in tenant_tables and plan["Node Type"] != "ModifyTable":
        inside = (str(part.get("Index Cond", "")) for part in parts)
        if not any(f"{plan['Alias']}.tenant_id" in condition for condition in (*conditions, *inside)):
            yield table
    for part in parts:
        yield from open_scans(part, tenant_tables, conditions)
