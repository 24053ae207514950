"""Mnemic behind the real PgBouncer: session mode works, the other modes are refused with the reason."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from psycopg import sql

from mnemic.db.access import url_access
from mnemic.db.migrate import migrate
from mnemic.db.task_cancellation import cancel_and_wait
from mnemic.db.tenancy import SigningKey
from mnemic.errors import ConfigurationError
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import LIMITS, open_database
from tests.password_server import PasswordServer
from tests.pgbouncer import IS_INSTALLED, PoolMode, pgbouncer

pytestmark = [
    pytest.mark.skipif("SLOW_TESTS" not in os.environ, reason="needs PgBouncer: make test-slow"),
    pytest.mark.skipif(not IS_INSTALLED, reason="PgBouncer is not installed: apt-get install pgbouncer"),
]

KEY = SigningKey(bytes(range(32)))
LOGINS = {KEY.login: KEY.login_password}
DATABASE = "pooled"


@pytest.fixture
async def migrated(password_server: PasswordServer) -> AsyncIterator[PasswordServer]:
    """The password server with a migrated database."""
    password_server.execute(f"CREATE DATABASE {DATABASE}")
    await migrate(password_server.url(dbname=DATABASE), LIMITS, key=KEY)
    yield password_server
    with password_server.connect() as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(DATABASE)))
        roles = [KEY.login, "mnemic_app", "mnemic_definer"]
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.SQL(", ").join(map(sql.Identifier, roles))))


async def test_session_mode_works(migrated: PasswordServer) -> None:
    with pgbouncer(migrated, "session", LOGINS) as port:
        url = migrated.url(dbname=DATABASE, port=port)
        async with AsyncMemory(url, owner="alice", embedder="test") as memory:
            await memory.retain("Alice moved to Berlin.")
            await memory.retain_many(f"fact {number}" for number in range(100))
            found = await asyncio.gather(*(memory.recall("Where did Alice move?") for _ in range(20)))
            assert all(each.hits[0].memory.content == "Alice moved to Berlin." for each in found)


async def test_a_worker_works_in_session_mode(migrated: PasswordServer) -> None:
    with pgbouncer(migrated, "session", LOGINS) as port:
        url = migrated.url(dbname=DATABASE, port=port)
        async with AsyncMemory(url, owner="alice", embedder="test") as memory:
            working = asyncio.create_task(memory.jobs.work(concurrency=2))
            try:
                await memory.documents.ingest("notes.md", "# Notes\n\nAlice moved to Berlin.", wait=True)
            finally:
                await cancel_and_wait(working)
            assert (await memory.recall("Where did Alice move?")).hits


async def test_every_transaction_behind_a_pooler_has_the_settings_of_a_session(
    migrated: PasswordServer,
) -> None:
    direct = await settings_of_transactions(migrated, migrated.port)
    with pgbouncer(migrated, "session", LOGINS) as port:
        assert await settings_of_transactions(migrated, port) == direct
    assert direct == [direct[0]] * 3


async def settings_of_transactions(server: PasswordServer, port: int) -> list[object]:
    """The settings of three transactions on one connection, each of which leaves others behind."""
    shown = (
        "SELECT current_setting('search_path') AS path, current_setting('statement_timeout') AS timeout,"
        " current_setting('random_page_cost') AS cost, current_setting('timezone') AS zone"
    )
    seen: list[object] = []
    limits = replace(LIMITS, pool_size=1)
    access = await url_access(server.url(dbname=DATABASE, port=port), limits, key=None)
    async with open_database(access, limits) as database:
        tenant = await database.open_tenant("acme")
        for _ in range(3):
            async with database.transaction(tenant) as transaction:
                seen += await (await transaction.connection.execute(shown)).fetchall()
                await transaction.connection.execute("SET statement_timeout = 0; SET search_path = pg_temp")
    return seen


@pytest.mark.parametrize(
    ("mode", "reason"), [("transaction", "transaction mode"), ("statement", "refuses transactions")]
)
async def test_other_modes_are_refused_with_the_reason(
    mode: PoolMode, reason: str, migrated: PasswordServer
) -> None:
    with pgbouncer(migrated, mode, LOGINS) as port:
        url = migrated.url(dbname=DATABASE, port=port)
        for refused in (
            url_access(url, LIMITS, key=None),
            url_access(
                migrated.url(KEY.login, KEY.login_password, dbname=DATABASE, port=port), LIMITS, key=KEY
            ),
            migrate(url, LIMITS),
        ):
            with pytest.raises(ConfigurationError, match=reason) as caught:
                await refused
            assert "pool_mode = session" in str(caught.value)


async def test_transaction_mode_is_detected_under_load(migrated: PasswordServer) -> None:
    """Other clients use the same backends meanwhile, so that the pooler hands out one after the other."""
    with pgbouncer(migrated, "transaction", LOGINS) as port:
        url = migrated.url(dbname=DATABASE, port=port)
        outcomes = await asyncio.gather(
            *(url_access(url, LIMITS, key=None) for _ in range(12)), return_exceptions=True
        )
        assert [type(outcome) for outcome in outcomes] == [ConfigurationError] * 12


async def test_a_pooler_that_refuses_the_settings_is_named_with_its_option(migrated: PasswordServer) -> None:
    with (
        pgbouncer(migrated, "session", LOGINS, ignores_settings=False) as port,
        pytest.raises(ConfigurationError, match="ignore_startup_parameters = options"),
    ):
        await url_access(migrated.url(dbname=DATABASE, port=port), LIMITS, key=None)


async def test_a_pool_of_one_backend_is_an_error_and_no_hang(migrated: PasswordServer) -> None:
    limits = replace(LIMITS, connect_timeout_s=2)
    with (
        pgbouncer(migrated, "session", LOGINS, pool_size=1) as port,
        pytest.raises(ConfigurationError, match="pool is too small"),
    ):
        await url_access(migrated.url(dbname=DATABASE, port=port), limits, key=None)
