"""`DedicatedConnection`: one backend process for all statements, replaced when it is lost."""

from collections.abc import AsyncIterator

import psycopg
import pytest
from psycopg.types.json import Jsonb

from mnemic.db.access import Access
from mnemic.db.database import Database
from mnemic.db.dedicated_connection import DedicatedConnection
from mnemic.errors import DatabaseError
from tests.conftest import AppConnection
from tests.waiting import wait_for

NOTHING_SETTLED = {
    "worker": "ghost",
    "types": ["work"],
    "slots": 1,
    "after_tenant": None,
    "only_tenant": None,
}
PROCESSES = (
    "SELECT pid FROM pg_stat_activity"
    " WHERE datname = current_database() AND query LIKE '%settle_and_claim_jobs%'"
)


@pytest.fixture
async def connection(database: Database) -> AsyncIterator[DedicatedConnection]:
    opened = database.dedicated_connection("claim jobs", "queue")
    yield opened
    await opened.aclose()


async def settle_and_claim(connection: DedicatedConnection) -> None:
    assert await connection.rows("workers.settle_and_claim", {**NOTHING_SETTLED, "outcomes": Jsonb([])}) == []


def processes(admin: AppConnection) -> list[object]:
    return [pid for (pid,) in admin.execute(f"{PROCESSES} AND pid <> pg_backend_pid()".encode())]


async def test_one_backend_runs_all_statements(connection: DedicatedConnection, admin: AppConnection) -> None:
    for _ in range(5):
        await settle_and_claim(connection)
    assert len(processes(admin)) == 1


async def test_a_lost_connection_is_replaced_before_anything_is_sent(
    connection: DedicatedConnection, admin: AppConnection
) -> None:
    await settle_and_claim(connection)
    (lost,) = processes(admin)
    admin.execute("SELECT pg_terminate_backend(%s)", (lost,))
    await wait_for(lambda: processes(admin) == [], what="the process to end")
    await settle_and_claim(connection)
    assert len(processes(admin)) == 1


async def test_a_closed_connection_leaves_no_process_and_opens_again(
    connection: DedicatedConnection, admin: AppConnection
) -> None:
    await settle_and_claim(connection)
    await connection.aclose()
    await wait_for(lambda: processes(admin) == [], what="the process to end")
    await settle_and_claim(connection)
    assert len(processes(admin)) == 1


async def test_a_signature_for_another_purpose_is_refused(
    database: Database, connection: DedicatedConnection
) -> None:
    other = database.dedicated_connection("claim jobs", "another queue")
    with pytest.raises(DatabaseError, match="proof of working"):
        await settle_and_claim(other)
    await other.aclose()
    await settle_and_claim(connection)


async def test_settings_stored_for_the_login_are_removed(
    access: Access, connection: DedicatedConnection, admin: AppConnection
) -> None:
    with psycopg.connect(access.conninfo(), autocommit=True) as planting:
        planting.execute("ALTER ROLE SESSION_USER SET row_security = off")
    await settle_and_claim(connection)
    left = admin.execute("SELECT FROM pg_db_role_setting WHERE setrole = %s::regrole", (access.key.login,))
    assert left.fetchall() == []
