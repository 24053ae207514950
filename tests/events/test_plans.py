"""With many events of many tenants, each read finds its own by an index, as the application's role."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from mnemic.db.access import DATABASE_NAME, Access
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.db.tenancy import Tenant
from mnemic.sql import query
from tests.conftest import AppConnection, Databases, access_to
from tests.proofs import begin_as

EVENTS = 50_000

# Withheld from the application, see mnemic.withhold_activity.
COUNTERS = """
    GRANT EXECUTE ON FUNCTION pg_stat_get_xact_tuples_returned, pg_stat_get_xact_tuples_fetched TO mnemic_app
"""
FILL = f"""
    INSERT INTO state.tenants (name) VALUES ('large'), ('small');
    INSERT INTO queue.events (tenant_id, "position", owner, type, subject, data, at)
    SELECT tenant_id, number, 'owner ' || number % 100, 'state.changed', 'key', '{{}}', now()
    FROM state.tenants, generate_series(1, {EVENTS}) AS number WHERE name = 'large';
    INSERT INTO queue.events (tenant_id, "position", owner, type, subject, data, at)
    SELECT tenant_id, number, 'owner ' || number % 100, 'state.changed', 'key', '{{}}', now()
    FROM state.tenants, generate_series(1, 1000) AS number WHERE name = 'small';
    INSERT INTO queue.event_logs (tenant_id, last_position)
    SELECT tenant_id, {EVENTS} FROM state.tenants WHERE name = 'large';
    INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)
    SELECT tenant_id, 'alice', 'state.changed', 'key', '{{}}'
    FROM state.tenants, generate_series(1, {EVENTS}) WHERE name = 'large';
    INSERT INTO queue.webhooks (tenant_id, url, secret, "position")
    SELECT tenant_id, 'https://nowhere.invalid/', 'whsec_', 0 FROM state.tenants WHERE name = 'large';
    INSERT INTO queue.webhook_deliveries (tenant_id, webhook_id, event_type, attempt, duration_ms)
    SELECT tenant_id, webhook_id, 'state.changed', 1, 1 FROM queue.webhooks, generate_series(1, {EVENTS});
    ANALYZE;
"""


@pytest.fixture(scope="module")
def large(
    template_access: Access, databases: Databases, server: EmbeddedServer
) -> Iterator[tuple[AppConnection, Tenant]]:
    """A connection of the application, in a transaction of a tenant that has many events."""
    name = databases.make(template=DATABASE_NAME)
    with psycopg.connect(server.conninfo(user=ADMIN_ROLE, dbname=name), autocommit=True) as admin:
        admin.execute(FILL)
        admin.execute(COUNTERS)
        ((tenant_id,),) = admin.execute("SELECT tenant_id FROM state.tenants WHERE name = 'large'").fetchall()
    access = access_to(template_access, name)
    tenant = Tenant(tenant_id, "large")
    with psycopg.connect(access.conninfo(), autocommit=True) as connection:
        begin_as(connection, access.key, tenant)
        yield connection, tenant
    databases.give_back(name)


def plan_of(connection: AppConnection, name: str, parameters: dict[str, Any]) -> str:
    rows = connection.execute(f"EXPLAIN (ANALYZE, COSTS off) {query(name)}".encode(), parameters).fetchall()
    return "\n".join(str(line) for (line,) in rows)


MIDDLE = {"after": EVENTS // 2, "until": EVENTS // 2 + 5000, "before": EVENTS, "limit": 100}
RARE = {"after": 0, "before": EVENTS, "types": ["memory.deleted"], "limit": 100}


@pytest.mark.parametrize(
    ("name", "parameters", "index"),
    [
        ("events.page", {**MIDDLE, "types": None, "owner": None}, "events_pkey"),
        ("events.page", {**MIDDLE, "types": ["state.deleted"], "owner": None}, "events_type"),
        ("events.list", {**MIDDLE, "types": None}, "events_pkey"),
        ("events.list_of_owner", {**MIDDLE, "types": None, "owner": "owner 7"}, "events_owner"),
        ("events.newest", MIDDLE, "events_pkey"),
        ("events.newest_of_types", RARE, "events_type"),
        ("events.newest_of_owner", {**MIDDLE, "types": None, "owner": "owner 7"}, "events_owner"),
        ("events.get", {"position": 7}, "events_pkey"),
    ],
)
def test_events_are_found_by_an_index(
    name: str, parameters: dict[str, Any], index: str, large: tuple[AppConnection, Tenant]
) -> None:
    connection, tenant = large
    plan = plan_of(connection, name, {"tenant_id": tenant.id, **parameters})
    assert f"using {index}" in plan or f"on {index}" in plan, plan
    assert "Seq Scan on events" not in plan, plan
    # They come in order; a page is sorted once more when the bounds or several types are joined.
    sort_count = (name == "events.page") + (index == "events_type")
    assert plan.count("Sort Key") == sort_count, plan


def test_deliveries_are_found_by_an_index(large: tuple[AppConnection, Tenant]) -> None:
    connection, tenant = large
    ((webhook_id,),) = connection.execute("SELECT webhook_id FROM queue.webhooks").fetchall()
    parameters = {
        "tenant_id": tenant.id,
        "webhook_id": webhook_id,
        "before_at": None,
        "before_id": None,
        "limit": 10,
    }
    plan = plan_of(connection, "webhook_deliveries.list", parameters)
    assert "webhook_deliveries_recent" in plan, plan
    assert "Seq Scan" not in plan


def test_sequencing_reads_no_more_than_it_moves(large: tuple[AppConnection, Tenant]) -> None:
    """The server counts what was read: a step of 100 out of many does not look at all of them."""
    connection, _ = large
    with connection.transaction(force_rollback=True):
        before = _rows_read(connection)
        assert connection.execute("SELECT mnemic.sequence_events(100)").fetchall() == [(100,)]
        assert _rows_read(connection) - before < 1000


def _rows_read(connection: AppConnection) -> int:
    ((count,),) = connection.execute(
        "SELECT pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid)"
        " FROM pg_class WHERE oid = 'queue.event_inbox'::regclass"
    ).fetchall()
    return int(str(count))
