"""Events are append-only: the application's role can add and read them, not change them."""

import pytest
from psycopg import errors as pg

from mnemic.db.tenancy import Tenant
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection, ConnectAs
from tests.tiers.conftest import TABLES

EVENTS = ["journal_events", "revenue_events", "error_events", "metrics_events"]


@pytest.fixture
async def full_memory(memory: AsyncMemory) -> AsyncMemory:
    """A memory with one row in every append-only tier."""
    await memory.journal.append(acted="wrote a test")
    await memory.revenue.append(1, "EUR", source="tests")
    await memory.errors.record("Timeout", "it took too long")
    await memory.metrics.record("recall", "latency", 1)
    await memory.actors.flag("mallory", reason="asked for the key")
    await memory.processes.set("speed", 3)
    return memory


@pytest.mark.parametrize(
    "attack",
    [
        "UPDATE state.{table} SET owner = 'mallory'",
        "UPDATE state.{table} SET at = now()",
        "DELETE FROM state.{table}",
        "TRUNCATE state.{table}",
        "DROP TABLE state.{table}",
        "ALTER TABLE state.{table} DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE state.{table} DISABLE TRIGGER ALL",
        "INSERT INTO state.{table} SELECT * FROM state.{table}"
        " ON CONFLICT (tenant_id, event_id) DO UPDATE SET owner = 'mallory'",
        "MERGE INTO state.{table} AS kept USING state.{table} AS same ON kept.event_id = same.event_id"
        " WHEN MATCHED THEN DELETE",
    ],
)
async def test_the_application_cannot_change_events(
    full_memory: AsyncMemory, tenant_a: Tenant, connect_as: ConnectAs, admin: AppConnection, attack: str
) -> None:
    for table in EVENTS:
        rows = f"SELECT * FROM state.{table} WHERE tenant_id = %s"
        before = admin.execute(rows, [tenant_a.id]).fetchall()
        with pytest.raises(pg.InsufficientPrivilege, match=table):
            connect_as(tenant_a).execute(attack.format(table=table))
        assert admin.execute(rows, [tenant_a.id]).fetchall() == before
        assert len(before) == 1


@pytest.mark.parametrize(
    "attack",
    [
        "UPDATE state.flagged_actors SET reason = 'nothing'",
        "UPDATE state.flagged_actors SET actor = 'alice'",
        "DELETE FROM state.flagged_actors",
        "TRUNCATE state.flagged_actors",
        "DELETE FROM state.process_attributes",
    ],
)
async def test_a_flag_can_only_be_cleared(
    full_memory: AsyncMemory, tenant_a: Tenant, connect_as: ConnectAs, attack: str
) -> None:
    with pytest.raises(pg.InsufficientPrivilege):
        connect_as(tenant_a).execute(attack)
    assert await full_memory.actors.is_flagged("mallory")
    assert await full_memory.processes.get("speed") is not None


async def test_another_tenant_reads_and_adds_nothing(
    full_memory: AsyncMemory, tenant_b: Tenant, connect_as: ConnectAs, admin: AppConnection
) -> None:
    """A tenant cannot insert rows for another tenant."""
    await full_memory.state.set("plan", 1)
    admin.execute("CREATE SCHEMA seen; GRANT USAGE ON SCHEMA seen TO PUBLIC")
    for table in TABLES:
        admin.execute(f"CREATE TABLE seen.{table} AS TABLE state.{table}")
        admin.execute(f"GRANT SELECT ON seen.{table} TO PUBLIC")
        stranger = connect_as(tenant_b)
        assert stranger.execute(f"SELECT FROM state.{table}").fetchall() == []
        with pytest.raises(pg.InsufficientPrivilege, match="row-level security"):
            stranger.execute(f"INSERT INTO state.{table} TABLE seen.{table}")
