"""Attacks on events and webhooks by SQL injected into a tenant's transaction."""

from collections.abc import Callable

import psycopg
import pytest
from psycopg import errors

from mnemic.db.access import Access
from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.errors import DatabaseError
from mnemic.sdk.memory import AsyncMemory
from mnemic.webhooks.delivery import add_delivery
from mnemic.webhooks.fan_out import fan_out_tenant
from tests.conftest import AppConnection, ConnectAs
from tests.opened import core_of, opened
from tests.proofs import begin, prove

TABLES = (
    "event_inbox",
    "events",
    "event_logs",
    "event_consumers",
    "webhooks",
    "webhook_deliveries",
)
Spy = Callable[[str], list[tuple[object, ...]]]


@pytest.fixture
async def foreign(database: Database, tenant_b: Tenant) -> AsyncMemory:
    """Tenant B's memory, with something in every table."""
    memory = opened(database, tenant_b, owner=None)
    await memory.state.set("secret", 1, owner="bob")
    async for _ in memory.events.subscribe("secret consumer", start="beginning"):
        break
    made = await memory.webhooks.create("https://secret.invalid/")
    await memory.webhooks.test(made.webhook.webhook_id)
    await memory.state.set("secret", 2, owner="bob")
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


async def test_a_tenant_sees_nothing_of_another(
    foreign: AsyncMemory, spy: Spy, admin: AppConnection, subtests: pytest.Subtests
) -> None:
    for table in TABLES:
        with subtests.test(table):
            there = admin.execute(f"SELECT count(*) FROM queue.{table}".encode()).fetchall()
            assert there != [(0,)], "there is something"
            assert spy(f"SELECT * FROM queue.{table}") == []


async def test_sequencing_shows_and_moves_nothing_of_another_tenant(
    foreign: AsyncMemory, spy: Spy, admin: AppConnection
) -> None:
    waiting = admin.execute("SELECT count(*) FROM queue.event_inbox").fetchall()
    assert spy("SELECT mnemic.sequence_events(1000)") == [(0,)]
    assert admin.execute("SELECT count(*) FROM queue.event_inbox").fetchall() == waiting == [(1,)]


async def test_positions_reveal_nothing_about_other_tenants(
    foreign: AsyncMemory, database: Database, tenant_a: Tenant
) -> None:
    memory = opened(database, tenant_a)
    await memory.state.set("first", 1)
    assert [event.position for event in await memory.events.list()] == [1]


FORGERIES = (
    "INSERT INTO queue.event_inbox (tenant_id, owner, type, subject, data)"
    " VALUES ('{a}', 'alice', 'memory.created', 'forged', '{{}}')",
    "INSERT INTO queue.events VALUES ('{a}', 1, 'alice', 'memory.created', 'forged', '{{}}', now())",
    "UPDATE queue.events SET subject = 'forged'",
    "DELETE FROM queue.events",
    "DELETE FROM queue.event_inbox",
    "UPDATE queue.event_logs SET last_position = 0",
    "DELETE FROM queue.event_logs",
    "SELECT mnemic.drop_events(1, 10)",
    "SELECT mnemic.drop_webhook_deliveries(1, 10)",
    "SELECT * FROM mnemic.tenants_with_undelivered_events(10)",
    "DELETE FROM queue.webhook_deliveries",
    "UPDATE queue.webhooks SET secret = 'whsec_'",
    "UPDATE queue.webhooks SET previous_secret = 'whsec_', previous_secret_until = 'infinity'",
    "SELECT mnemic.rotate_webhook_secret(gen_random_uuid(), NULL, 'whsec_', 60)",
    "SELECT mnemic.delete_expired_webhook_secrets()",
    "SELECT mnemic.publish_memory_events()",
    "ALTER TABLE state.memories DISABLE TRIGGER publish_created",
    "SET session_replication_role = replica",
)
WRITES_FOR_ANOTHER = (
    "INSERT INTO queue.event_consumers (tenant_id, name, position) VALUES ('{b}', 'mine', 0)",
    "INSERT INTO queue.webhooks (tenant_id, url, secret, position) VALUES ('{b}', 'x', 'whsec_x', 0)",
    "INSERT INTO queue.webhook_deliveries (tenant_id, webhook_id, event_type, attempt, duration_ms)"
    " SELECT '{b}', gen_random_uuid(), 'x', 1, 1",
)


async def test_the_log_cannot_be_forged_or_shortened(
    spy: Spy, tenant_a: Tenant, subtests: pytest.Subtests
) -> None:
    for statement in FORGERIES:
        with (
            subtests.test(statement),
            pytest.raises((errors.InsufficientPrivilege, errors.FeatureNotSupported)),
        ):
            spy(statement.format(a=tenant_a.id))


async def test_a_tenant_cannot_write_for_another(
    foreign: AsyncMemory, spy: Spy, subtests: pytest.Subtests
) -> None:
    for statement in WRITES_FOR_ANOTHER:
        with (
            subtests.test(statement),
            pytest.raises(errors.InsufficientPrivilege, match="row-level security"),
        ):
            spy(statement.format(b=foreign.tenant.id))


async def test_a_webhook_of_another_tenant_cannot_be_changed(foreign: AsyncMemory, spy: Spy) -> None:
    assert spy("UPDATE queue.webhooks SET url = 'https://attacker.invalid/' RETURNING 1") == []
    assert spy("DELETE FROM queue.webhooks RETURNING 1") == []
    assert [webhook.url for webhook in await foreign.webhooks.list()] == ["https://secret.invalid/"]


async def test_a_proof_of_maintenance_rotates_no_secret_of_another_tenant(
    foreign: AsyncMemory, database: Database, tenant_a: Tenant, admin: AppConnection
) -> None:
    ((webhook_id, secret),) = admin.execute("SELECT webhook_id, secret FROM queue.webhooks").fetchall()
    parameters = {"webhook_id": webhook_id, "owner": None, "secret": "whsec_attacker", "grace_s": 0}
    async with database.transaction(tenant_a, maintenance=True) as transaction:
        assert await transaction.one("webhooks.rotate", parameters) == {"is_rotated": False}
    assert admin.execute("SELECT secret, previous_secret FROM queue.webhooks").fetchall() == [(secret, None)]


async def test_the_proof_of_working_shows_names_of_tenants_and_no_rows(
    foreign: AsyncMemory, access: Access
) -> None:
    """The role itself sees no more by it: the policies for workers are those of mnemic_definer alone."""
    with psycopg.connect(access.conninfo(), autocommit=True) as connection:
        moment = begin(connection)
        prove(connection, access.key, "working", "queue", moment=moment)
        behind = connection.execute("SELECT name FROM mnemic.tenants_with_undelivered_events(10)").fetchall()
        assert behind == [("tenant b",)]
        for table in TABLES:
            assert connection.execute(f"SELECT * FROM queue.{table}".encode()).fetchall() == []


async def test_a_webhook_of_one_tenant_gets_no_event_of_another(
    foreign: AsyncMemory, database: Database, tenant_a: Tenant
) -> None:
    memory = opened(database, tenant_a, owner=None)
    await memory.webhooks.create("https://nowhere.invalid/", start="beginning")
    assert await fan_out_tenant(core_of(memory).storage.tenant_database, add_delivery) == 0


async def test_without_a_tenant_there_is_nothing_to_sequence(
    connect_as: ConnectAs, foreign: AsyncMemory
) -> None:
    connection = connect_as(None)
    assert connection.execute("SELECT mnemic.sequence_events(1000)").fetchall() == [(0,)]


async def test_dropping_needs_the_proof(database: Database, tenant_a: Tenant) -> None:
    with pytest.raises(DatabaseError, match="proof of maintenance"):
        async with database.transaction(tenant_a) as transaction:
            await transaction.one("events.drop", {"keep_days": 1, "most": 10})
