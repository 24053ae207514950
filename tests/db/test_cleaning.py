"""A pooled connection is cleaned between the transactions of two tenants."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace

import pytest
from psycopg import errors as pg

from mnemic.db import database as database_module
from mnemic.db.access import Access
from mnemic.db.connection import AppConnection, CommitResult
from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.errors import ConflictError, DatabaseError
from mnemic.sql import query
from tests.conftest import LIMITS, open_database

ONE_CONNECTION = replace(LIMITS, pool_size=1)

# What one tenant leaves on the connection, and the query by which the next one would find it.
LEFTOVERS = {
    "a cursor with hold": (
        "DECLARE planted CURSOR WITH HOLD FOR SELECT name FROM state.tenants",
        "FETCH ALL FROM planted",
    ),
    "a temporary table": (
        "CREATE TEMP TABLE planted AS SELECT name FROM state.tenants",
        "SELECT name FROM pg_temp.planted",
    ),
    "a temporary function": (
        "CREATE FUNCTION pg_temp.planted() RETURNS text RETURN 'planted'",
        "SELECT pg_temp.planted()",
    ),
    "a temporary view with a table's name": (
        "CREATE TEMP VIEW tenants AS SELECT 'planted' AS name",
        "SELECT name FROM pg_temp.tenants",
    ),
    "a sequence's value": (
        "CREATE TEMP SEQUENCE planted; SELECT nextval('pg_temp.planted')",
        "SELECT lastval()",
    ),
    "a search path": (
        "SET search_path = pg_temp, state",
        "SELECT 'found' WHERE current_setting('search_path') LIKE '%state%'",
    ),
    "another role": ("SET ROLE mnemic_app", "SELECT 'found' WHERE current_user <> session_user"),
    "a statement of what is opened": (
        "SET mnemic.opening = 'planted'",
        "SELECT 'found' WHERE current_setting('mnemic.opening', true) <> ''",
    ),
    "no time limit": (
        "SET statement_timeout = 0",
        "SELECT 'found' WHERE current_setting('statement_timeout') = '0'",
    ),
    "read-only transactions": (
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
        "SELECT 'found' WHERE current_setting('transaction_read_only') = 'on'",
    ),
    "row security off": (
        "SET row_security = off",
        "SELECT 'found' WHERE current_setting('row_security') = 'off'",
    ),
    "a lock of the session": (
        "SELECT pg_advisory_lock(42)",
        "SELECT 'found' WHERE pg_advisory_unlock(42)",
    ),
    "a subscription": ("LISTEN planted", "SELECT pg_listening_channels()"),
    "a prepared statement": ("PREPARE planted AS SELECT 'planted'", "EXECUTE planted"),
    # The driver names its statements like this; the next tenant's queries would run this one instead.
    "a statement with the driver's name": (
        "DEALLOCATE ALL; PREPARE _pg3_0 (text, text, text) AS SELECT 'planted'",
        "EXECUTE _pg3_0 ('', '', '')",
    ),
}
NOT_FOUND_ERRORS = (
    pg.InvalidCursorName,
    pg.UndefinedTable,
    pg.UndefinedFunction,
    pg.ObjectNotInPrerequisiteState,
    pg.InvalidSqlStatementName,
    pg.InvalidSchemaName,
)


@pytest.fixture
async def narrow_database(access: Access) -> AsyncIterator[Database]:
    """A database with a single connection."""
    async with open_database(access, ONE_CONNECTION) as database:
        yield database


@pytest.fixture
def no_cleaning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return connections to the pool without cleaning."""

    async def leave_it(connection: AppConnection) -> None:
        pass

    async def only_commit(connection: AppConnection) -> CommitResult:
        await connection.commit()
        return CommitResult(is_clean=False)

    monkeypatch.setattr(database_module, "clean_or_close", leave_it)
    monkeypatch.setattr(database_module, "commit_and_clean", only_commit)


async def leave(database: Database, tenant: Tenant, statements: str) -> None:
    async with database.transaction(tenant) as transaction:
        await transaction.connection.execute(statements.encode())


async def find(database: Database, tenant: Tenant, question: str) -> list[object]:
    """The result of the query in the tenant's next transaction."""
    async with database.transaction(tenant) as transaction:
        try:
            async with transaction.connection.transaction():
                cursor = await transaction.connection.execute(question.encode())
                return [value for row in await cursor.fetchall() for value in row.values()]
        except NOT_FOUND_ERRORS:
            return []


async def backend_pid(database: Database, tenant: Tenant) -> int:
    async with database.transaction(tenant) as transaction:
        return transaction.connection.info.backend_pid


async def found_by_the_next_tenant(access: Access, leftover: str) -> list[object]:
    """What another tenant finds on the only connection after a leftover."""
    statements, question = LEFTOVERS[leftover]
    async with open_database(access, ONE_CONNECTION) as database:
        one, other = [await database.open_tenant(name) for name in ("one", "other")]
        await leave(database, one, statements)
        return await find(database, other, question)


async def test_the_next_tenant_does_not_find_leftovers(access: Access, subtests: pytest.Subtests) -> None:
    for leftover in LEFTOVERS:
        with subtests.test(leftover):
            assert await found_by_the_next_tenant(access, leftover) == []


@pytest.mark.usefixtures("no_cleaning")
async def test_without_cleaning_the_next_tenant_finds_leftovers(
    access: Access, subtests: pytest.Subtests
) -> None:
    """Shows that the test above can fail."""
    for leftover in LEFTOVERS:
        with subtests.test(leftover):
            assert await found_by_the_next_tenant(access, leftover) != []


async def test_a_clean_connection_is_used_again(narrow_database: Database) -> None:
    tenant = await narrow_database.open_tenant("one")
    pids = {await backend_pid(narrow_database, tenant) for _ in range(10)}
    assert len(pids) == 1


async def test_a_connection_with_a_leftover_prepared_statement_is_closed_and_logged(
    narrow_database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    tenant = await narrow_database.open_tenant("one")
    before = await backend_pid(narrow_database, tenant)
    with caplog.at_level(logging.WARNING, "mnemic.connection"):
        await leave(narrow_database, tenant, "PREPARE planted AS SELECT 1")
        assert await backend_pid(narrow_database, tenant) != before
    assert "prepared by SQL" in caplog.text


def test_commit_and_clean_runs_the_same_statements_as_clean() -> None:
    """`commit_and_clean` runs after almost every transaction, `clean` after the others."""
    commit, wakeups, *cleaning = statements("session.commit_and_clean")
    assert commit == "COMMIT"
    assert wakeups == "SELECT current_setting('mnemic.wakeups', true) AS wakeups"
    assert cleaning == statements("session.clean")


def statements(name: str) -> list[str]:
    lines = [line for line in query(name).splitlines() if not line.startswith("--")]
    return [statement.strip() for statement in "\n".join(lines).split(";")]


async def test_a_failed_commit_raises_and_leaves_a_clean_connection(
    narrow_database: Database,
) -> None:
    tenant = await narrow_database.open_tenant("one")
    before = await backend_pid(narrow_database, tenant)
    with pytest.raises(ConflictError) as caught:
        await leave(
            narrow_database,
            tenant,
            "SET search_path = pg_temp, state;"
            "CREATE TEMP TABLE planted (id int UNIQUE DEFERRABLE INITIALLY DEFERRED);"
            "INSERT INTO pg_temp.planted VALUES (1), (1)",
        )
    assert isinstance(caught.value.__cause__, pg.UniqueViolation)
    assert await find(narrow_database, tenant, LEFTOVERS["a search path"][1]) == []
    assert await find(narrow_database, tenant, LEFTOVERS["a temporary table"][1]) == []
    assert await backend_pid(narrow_database, tenant) == before


async def test_a_transaction_ended_by_sql_leaves_a_clean_connection(narrow_database: Database) -> None:
    """Statements after the COMMIT have no proof; they are rolled back or committed unchanged."""
    tenant = await narrow_database.open_tenant("one")
    for statements in ("COMMIT", "ROLLBACK; BEGIN", "COMMIT; BEGIN; SAVEPOINT deep", "COMMIT AND CHAIN"):
        async with narrow_database.transaction(tenant) as transaction:
            await transaction.connection.execute(statements.encode())
            cursor = await transaction.connection.execute("SELECT name FROM state.tenants")
            assert await cursor.fetchall() == []
        assert await find(narrow_database, tenant, "SELECT name FROM state.tenants") == ["one"]


async def test_a_copy_left_open_does_not_block_the_pool(narrow_database: Database) -> None:
    tenant = await narrow_database.open_tenant("one")
    for statement in ("COPY state.tenants TO STDOUT", "COPY state.tenants FROM STDIN"):
        with pytest.raises(DatabaseError):
            await leave(narrow_database, tenant, statement)
        assert await find(narrow_database, tenant, "SELECT name FROM state.tenants") == ["one"]


async def test_deallocating_the_drivers_statements_fails_one_transaction_at_most(
    narrow_database: Database,
) -> None:
    tenant = await narrow_database.open_tenant("one")
    for _ in range(10):  # Often enough for the driver to prepare what each transaction begins with.
        await backend_pid(narrow_database, tenant)
    await leave(narrow_database, tenant, "DEALLOCATE _pg3_0")
    with pytest.raises(DatabaseError, match="_pg3_0"):
        await backend_pid(narrow_database, tenant)
    assert await find(narrow_database, tenant, "SELECT name FROM state.tenants") == ["one"]


LOGIN_SETTINGS = {
    "default_transaction_read_only": "on",
    "exit_on_error": "on",
    "hnsw.ef_search": "1",
    "local_preload_libraries": "no_such_library",
    "lock_timeout": "1ms",
    "role": "mnemic_app",
    "row_security": "off",
    "statement_timeout": "1ms",
}


async def test_settings_stored_for_the_login_are_removed_from_later_connections(
    access: Access, database_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """PostgreSQL lets every role change its own settings, so they must be removed."""
    tenant = await plant_settings(access, database_name)
    async with open_database(access, ONE_CONNECTION) as database:
        for name, value in LOGIN_SETTINGS.items():
            assert await find(database, tenant, f"SELECT current_setting('{name}', true)") != [value]
        assert await find(database, tenant, "SELECT setconfig FROM pg_db_role_setting") == []
    assert "settings stored for the application's login" in caplog.text


async def plant_settings(access: Access, database_name: str) -> Tenant:
    async with open_database(access, ONE_CONNECTION) as database:
        tenant = await database.open_tenant("one")
        async with database.transaction(tenant) as transaction:
            await transaction.connection.execute("SELECT '[1]'::vector")  # Makes the names of hnsw known.
            for place in ("", f"IN DATABASE {database_name}"):
                for name, value in LOGIN_SETTINGS.items():
                    statement = f"ALTER ROLE SESSION_USER {place} SET {name} = '{value}'"
                    await transaction.connection.execute(statement.encode())
    return tenant


def test_a_program_that_ends_with_an_exception_does_not_hang_in_the_pool(access: Access) -> None:
    async def fail() -> None:
        database = Database(access, ONE_CONNECTION)
        await database.open()
        async with database.transaction(await database.open_tenant("one")):
            pass
        raise ZeroDivisionError

    def program() -> None:
        with suppress(ZeroDivisionError):
            asyncio.run(fail())

    thread = threading.Thread(target=program, daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert not thread.is_alive()
