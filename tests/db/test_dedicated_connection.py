"""`Line`: a connection of its own for a worker's turns, which comes back when it is lost."""

from collections.abc import AsyncIterator

import psycopg
import pytest
from psycopg.types.json import Jsonb

from mnemic.db.access import Access
from mnemic.db.database import Database
from mnemic.db.dedicated_connection import Line
from mnemic.errors import DatabaseError
from tests.conftest import AppConnection
from tests.waiting import wait_for

TURN = {"worker": "ghost", "types": ["work"], "slots": 1, "after_tenant": None, "only_tenant": None}
PROCESSES = (
    "SELECT pid FROM pg_stat_activity"
    " WHERE datname = current_database() AND query LIKE '%settle_and_claim_jobs%'"
)


@pytest.fixture
async def line(database: Database) -> AsyncIterator[Line]:
    opened = database.line("turn", "queue")
    yield opened
    await opened.aclose()


async def take_turn(line: Line) -> None:
    assert await line.rows("workers.turn", {**TURN, "outcomes": Jsonb([])}) == []


def processes(admin: AppConnection) -> list[object]:
    return [pid for (pid,) in admin.execute(f"{PROCESSES} AND pid <> pg_backend_pid()".encode())]


async def test_one_server_process_serves_all_turns(line: Line, admin: AppConnection) -> None:
    for _ in range(5):
        await take_turn(line)
    assert len(processes(admin)) == 1


async def test_a_lost_connection_is_replaced_before_anything_is_sent(
    line: Line, admin: AppConnection
) -> None:
    await take_turn(line)
    (lost,) = processes(admin)
    admin.execute("SELECT pg_terminate_backend(%s)", (lost,))
    await wait_for(lambda: processes(admin) == [], what="the process to end")
    await take_turn(line)
    assert len(processes(admin)) == 1


async def test_a_closed_line_leaves_no_process_and_opens_again(line: Line, admin: AppConnection) -> None:
    await take_turn(line)
    await line.aclose()
    await wait_for(lambda: processes(admin) == [], what="the process to end")
    await take_turn(line)
    assert len(processes(admin)) == 1


async def test_a_signature_for_something_else_is_refused(database: Database, line: Line) -> None:
    other = database.line("turn", "another queue")
    with pytest.raises(DatabaseError, match="proof of working"):
        await take_turn(other)
    await other.aclose()
    await take_turn(line)


async def test_settings_planted_for_the_login_do_not_reach_it(
    access: Access, line: Line, admin: AppConnection
) -> None:
    with psycopg.connect(access.conninfo(), autocommit=True) as planting:
        planting.execute("ALTER ROLE SESSION_USER SET row_security = off")
    await take_turn(line)
    left = admin.execute("SELECT FROM pg_db_role_setting WHERE setrole = %s::regrole", (access.key.login,))
    assert left.fetchall() == []
