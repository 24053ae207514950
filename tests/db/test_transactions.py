"""`Database`: transactions of a tenant, named queries, and translated errors."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import psycopg
import pytest
from psycopg import errors as pg

from mnemic.db.access import Access
from mnemic.db.connection import Limits, with_session
from mnemic.db.database import RACE_ATTEMPTS, Database, TenantDatabase, Transaction
from mnemic.db.tenancy import Tenant
from mnemic.errors import (
    ConflictError,
    DatabaseError,
    DatabaseUnavailableError,
    InvalidInputError,
    MnemicError,
    NotFoundError,
    QueryTimeoutError,
    TenantMismatchError,
)
from mnemic.sql import queries
from tests.conftest import LIMITS, AppConnection, open_database
from tests.waiting import wait_for

ADD_NOTE = "INSERT INTO state.notes (tenant_id, id, body) VALUES (%(tenant_id)s, %(id)s, %(body)s)"


@pytest.fixture
async def small_database(access: Access) -> AsyncIterator[Database]:
    """A database with one connection."""
    async with open_limited(access, replace(LIMITS, pool_size=1)) as database:
        yield database


@pytest.fixture
async def impatient_database(access: Access) -> AsyncIterator[Database]:
    """A database with one connection and short timeouts."""
    limits = Limits(pool_size=1, statement_timeout_s=2, connect_timeout_s=2)
    async with open_limited(access, limits) as database:
        yield database


@asynccontextmanager
async def open_limited(access: Access, limits: Limits) -> AsyncIterator[Database]:
    conninfo = with_session(access.conninfo(), limits, statement_timeout_s=limits.statement_timeout_s)
    async with open_database(replace(access, conninfo=lambda: conninfo), limits) as database:
        yield database


async def add_note(transaction: Transaction, number: int, body: str = "") -> None:
    tenant_id = transaction.tenant.id
    await transaction.connection.execute(ADD_NOTE, {"tenant_id": tenant_id, "id": number, "body": body})


async def note_ids(database: Database, tenant: Tenant) -> list[int]:
    async with database.transaction(tenant) as transaction:
        cursor = await transaction.connection.execute("SELECT id FROM state.notes ORDER BY id")
        return [row["id"] for row in await cursor.fetchall()]


async def test_a_transaction_commits_when_its_block_ends(
    database: Database, tenant_a: Tenant, notes: str
) -> None:
    async with database.transaction(tenant_a) as transaction:
        await add_note(transaction, 1)
        await add_note(transaction, 2)
    assert await note_ids(database, tenant_a) == [1, 2]


async def test_an_exception_rolls_back_the_transaction(
    database: Database, tenant_a: Tenant, notes: str
) -> None:
    async def work() -> None:
        async with database.transaction(tenant_a) as transaction:
            await add_note(transaction, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await work()
    assert await note_ids(database, tenant_a) == []


async def test_tenants_on_the_same_connection_see_only_their_own_rows(
    small_database: Database, notes: str
) -> None:
    tenants = [await small_database.open_tenant(name) for name in ("one", "two")]
    for number, tenant in enumerate(tenants):
        async with small_database.transaction(tenant) as transaction:
            await add_note(transaction, number)
    assert [await note_ids(small_database, tenant) for tenant in tenants] == [[0], [1]]


async def test_opening_a_tenant_twice_gives_the_same_tenant(database: Database) -> None:
    first = await database.open_tenant("acme")
    again, other = await asyncio.gather(database.open_tenant("acme"), database.open_tenant("other"))
    assert first == again
    assert other.id != first.id


async def test_a_new_tenant_opened_concurrently_is_one_tenant(database: Database) -> None:
    opened = await asyncio.gather(*(database.open_tenant("contested") for _ in range(20)))
    assert len({tenant.id for tenant in opened}) == 1


@pytest.mark.parametrize("name", ["", "x" * 129, "tab\there"])
async def test_an_invalid_tenant_name_is_refused(database: Database, name: str) -> None:
    with pytest.raises(InvalidInputError):
        await database.open_tenant(name)


async def test_named_queries_return_rows_or_counts(
    database: Database, tenant_a: Tenant, notes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(queries(), "notes.add", ADD_NOTE)
    monkeypatch.setitem(queries(), "notes.list", "SELECT id FROM state.notes ORDER BY id")
    rows = [{"tenant_id": tenant_a.id, "id": number, "body": ""} for number in range(3)]
    async with database.transaction(tenant_a) as transaction:
        assert await transaction.first("notes.list") is None
        with pytest.raises(NotFoundError):
            await transaction.one("notes.list")
        assert await transaction.execute("notes.add", rows[0]) == 1
        assert await transaction.execute_many("notes.add", rows[1:]) == 2
        assert await transaction.rows("notes.list") == [{"id": 0}, {"id": 1}, {"id": 2}]
        assert await transaction.one("notes.list") == {"id": 0}


async def test_an_unknown_query_name_raises_key_error(database: Database, tenant_a: Tenant) -> None:
    async with database.transaction(tenant_a) as transaction:
        with pytest.raises(KeyError):
            await transaction.rows("notes.no_such_query")


TRANSLATED: list[tuple[str, type[MnemicError], type[psycopg.Error]]] = [
    ("INSERT INTO state.notes VALUES ({me}, 1), ({me}, 1)", ConflictError, pg.UniqueViolation),
    ("INSERT INTO state.notes VALUES ({me}, 1, 'forbidden')", InvalidInputError, pg.CheckViolation),
    ("INSERT INTO state.notes VALUES ({me}, NULL)", InvalidInputError, pg.NotNullViolation),
    ("INSERT INTO state.notes VALUES ({me}, 1, '', 9)", InvalidInputError, pg.ForeignKeyViolation),
    ("SELECT 'no uuid'::uuid", InvalidInputError, pg.InvalidTextRepresentation),
    ("INSERT INTO state.notes VALUES ({other}, 1)", TenantMismatchError, pg.InsufficientPrivilege),
    ("SELECT key FROM mnemic.signing_key", DatabaseError, pg.InsufficientPrivilege),
    ("SELECT FROM no_such_table", DatabaseError, pg.UndefinedTable),
]


async def test_errors_of_the_driver_are_translated_and_kept_as_cause(
    database: Database, tenant_a: Tenant, tenant_b: Tenant, notes: str, subtests: pytest.Subtests
) -> None:
    for statement, error_type, cause_type in TRANSLATED:
        text = statement.format(me=f"'{tenant_a.id}'", other=f"'{tenant_b.id}'")
        with subtests.test(statement):
            with pytest.raises(error_type) as caught:
                async with database.transaction(tenant_a) as transaction:
                    await transaction.connection.execute(text.encode())
            assert type(caught.value) is error_type
            assert isinstance(caught.value.__cause__, cause_type)
            assert await note_ids(database, tenant_a) == []


async def test_error_messages_contain_no_values_of_rows(database: Database, tenant_a: Tenant) -> None:
    """In the detail line of its error the server quotes the key unless row-level security forbids it."""
    with pytest.raises(ConflictError) as caught:
        async with database.transaction(tenant_a) as transaction:
            await transaction.connection.execute(
                "CREATE TEMP TABLE quoted (id int PRIMARY KEY);"
                " INSERT INTO pg_temp.quoted VALUES (4711), (4711)"
            )
    assert "4711" in str(caught.value.__cause__)
    assert "4711" not in str(caught.value)


async def test_a_statement_over_the_time_limit_is_a_timeout(
    impatient_database: Database, tenant_a: Tenant
) -> None:
    with pytest.raises(QueryTimeoutError, match="statement_timeout_s") as caught:
        async with impatient_database.transaction(tenant_a) as transaction:
            await transaction.connection.execute("SELECT pg_sleep(60)")
    assert isinstance(caught.value.__cause__, pg.QueryCanceled)


async def test_the_time_limit_is_restored_for_the_next_transaction(
    impatient_database: Database, tenant_a: Tenant
) -> None:
    async with impatient_database.transaction(tenant_a) as transaction:
        await transaction.connection.execute("SET statement_timeout = 0")
    with pytest.raises(QueryTimeoutError):
        async with impatient_database.transaction(tenant_a) as transaction:
            await transaction.connection.execute("SELECT pg_sleep(60)")


async def test_fifty_transactions_share_a_small_pool(
    database: Database, tenant_a: Tenant, tenant_b: Tenant, notes: str
) -> None:
    async def work(number: int) -> None:
        async with database.transaction(tenant_a if number % 2 else tenant_b) as transaction:
            await add_note(transaction, number)

    async with asyncio.TaskGroup() as tasks:
        for number in range(50):
            tasks.create_task(work(number))
    assert await note_ids(database, tenant_a) == list(range(1, 50, 2))
    assert await note_ids(database, tenant_b) == list(range(0, 50, 2))


async def test_the_pool_reuses_the_last_returned_connection(database: Database, tenant_a: Tenant) -> None:
    async with database.transaction(tenant_a) as first, database.transaction(tenant_a) as second:
        inner, outer = second.connection, first.connection
    # The inner transaction ended first, the outer one last.
    for _ in range(3):
        async with database.transaction(tenant_a) as transaction:
            assert transaction.connection is outer
            async with database.transaction(tenant_a) as another:
                assert another.connection is inner


async def test_waiting_for_a_free_connection_times_out(
    impatient_database: Database, tenant_a: Tenant
) -> None:
    before = impatient_database.pool_statistics().get("requests_num", 0)
    async with impatient_database.transaction(tenant_a):
        with pytest.raises(DatabaseUnavailableError, match="pool_size"):
            async with impatient_database.transaction(tenant_a):
                pass
    assert impatient_database.pool_statistics()["requests_num"] - before == 2, "no second attempt"
    async with impatient_database.transaction(tenant_a) as transaction:
        assert await transaction.rows("session.find_tenant", {"name": tenant_a.name})


async def test_using_a_closed_database_is_an_error(access: Access) -> None:
    async with open_database(access) as database:
        tenant = await database.open_tenant("late")
    with pytest.raises(MnemicError, match="closed"):
        async with database.transaction(tenant):
            pass


async def test_a_cancelled_transaction_is_rolled_back_and_returns_its_connection(
    small_database: Database, notes: str
) -> None:
    tenant = await small_database.open_tenant("impatient")
    wrote = asyncio.Event()

    async def work() -> None:
        async with small_database.transaction(tenant) as transaction:
            await add_note(transaction, 1)
            wrote.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await wrote.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await note_ids(small_database, tenant) == []


async def test_run_retries_after_a_deadlock(database: Database, tenant_a: Tenant, notes: str) -> None:
    attempts = 0

    async def work(transaction: Transaction) -> int:
        nonlocal attempts
        attempts += 1
        await add_note(transaction, attempts)
        if attempts < 3:
            raise pg.DeadlockDetected
        return attempts

    assert await TenantDatabase(database, tenant_a).run(work) == 3
    assert await note_ids(database, tenant_a) == [3]


async def test_run_raises_a_conflict_after_the_last_attempt(database: Database, tenant_a: Tenant) -> None:
    attempts = 0

    async def work(transaction: Transaction) -> None:
        nonlocal attempts
        attempts += 1
        raise pg.SerializationFailure

    with pytest.raises(ConflictError):
        await TenantDatabase(database, tenant_a).run(work)
    assert attempts == RACE_ATTEMPTS


async def test_run_does_not_retry_other_conflicts(database: Database, tenant_a: Tenant, notes: str) -> None:
    attempts = 0

    async def work(transaction: Transaction) -> None:
        nonlocal attempts
        attempts += 1
        await add_note(transaction, 1)
        await add_note(transaction, 1)

    with pytest.raises(ConflictError):
        await TenantDatabase(database, tenant_a).run(work)
    assert attempts == 1


async def test_a_connection_killed_in_a_transaction_is_an_unavailable_database(
    database: Database, tenant_a: Tenant, notes: str, admin: AppConnection
) -> None:
    async def write_on_a_killed_connection() -> None:
        async with database.transaction(tenant_a) as transaction:
            pid = transaction.connection.info.backend_pid
            admin.execute("SELECT pg_terminate_backend(%s, 60000)", (pid,))
            await add_note(transaction, 1)

    with pytest.raises(DatabaseUnavailableError) as caught:
        await write_on_a_killed_connection()
    assert isinstance(caught.value.__cause__, pg.AdminShutdown)
    assert await note_ids(database, tenant_a) == []


async def test_killed_connections_are_replaced(
    database: Database, tenant_a: Tenant, notes: str, admin: AppConnection
) -> None:
    await asyncio.gather(*(note_ids(database, tenant_a) for _ in range(LIMITS.pool_size)))
    rows = admin.execute(
        "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND datname = current_database()"
    )
    killed = [pid for pid, _ in rows.fetchall()]
    assert killed

    def gone() -> bool:
        found = admin.execute("SELECT pid FROM pg_stat_activity WHERE pid = ANY (%s)", (killed,))
        return found.fetchall() == []

    await wait_for(gone, what="the connections to end")
    counts = await asyncio.gather(*(note_ids(database, tenant_a) for _ in range(2 * LIMITS.pool_size)))
    assert counts == [[]] * 2 * LIMITS.pool_size
