"""An open database recovers when its server restarts or crashes."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from mnemic.db.access import embedded_access, url_access
from mnemic.db.connection import Limits
from mnemic.db.database import Database, TenantDatabase, Transaction
from mnemic.db.embedded import EmbeddedServer, status, stop
from mnemic.db.migrate import migrate
from mnemic.errors import DatabaseUnavailableError
from mnemic.jobs.queue import enqueue
from tests.conftest import LIMITS, open_database
from tests.password_server import PasswordServer
from tests.prepared_folder import copy_prepared
from tests.waiting import wait_for, wait_for_async


@pytest.fixture
async def remote_database(password_server: PasswordServer) -> AsyncIterator[Database]:
    """A database on the password server, open by its administrator's URL."""
    password_server.execute("CREATE DATABASE remote")
    url = password_server.url(dbname="remote")
    await migrate(url, LIMITS)
    limits = Limits(pool_size=4, statement_timeout_s=60, connect_timeout_s=5)
    async with open_database(await url_access(url, limits, key=None), limits) as database:
        yield database
    password_server.execute("DROP DATABASE remote WITH (FORCE)")


async def ask(transaction: Transaction) -> str:
    cursor = await transaction.connection.execute("SELECT name FROM state.tenants")
    return ",".join(row["name"] for row in await cursor.fetchall())


async def test_transactions_work_after_a_server_restart(
    remote_database: Database, password_server: PasswordServer
) -> None:
    tenant = await remote_database.open_tenant("patient")
    password_server.stop()
    password_server.run()
    async with remote_database.transaction(tenant) as transaction:
        assert await ask(transaction) == "patient"


async def test_a_signed_statement_runs_exactly_once_after_a_server_restart(
    remote_database: Database, password_server: PasswordServer
) -> None:
    database = TenantDatabase(remote_database, await remote_database.open_tenant("patient"))
    await asyncio.gather(*(enqueue(database, "work") for _ in range(8)))
    for _ in range(2):
        password_server.stop()
        password_server.run()
        await asyncio.gather(*(enqueue(database, "work") for _ in range(4)))
    async with database.transaction() as transaction:
        cursor = await transaction.connection.execute("SELECT count(*) FROM queue.jobs")
        assert await cursor.fetchone() == {"count": 16}


async def test_a_lost_connection_is_closed_on_first_use(
    remote_database: Database, password_server: PasswordServer
) -> None:
    database = TenantDatabase(remote_database, await remote_database.open_tenant("patient"))
    password_server.stop()
    password_server.run()
    await enqueue(database, "work")
    statistics = remote_database.pool_statistics()
    assert statistics["returns_bad"] == 1
    assert statistics.get("connections_lost", 0) == 0, "it went back to the pool, where others wait for one"


async def test_a_transaction_fails_with_its_server_and_the_next_one_waits_for_the_restart(
    remote_database: Database, password_server: PasswordServer
) -> None:
    tenant = await remote_database.open_tenant("patient")

    async def lose_it() -> None:
        async with remote_database.transaction(tenant) as transaction:
            password_server.stop()
            await ask(transaction)

    with pytest.raises(DatabaseUnavailableError):
        await lose_it()
    with pytest.raises(DatabaseUnavailableError, match="cannot be reached"):
        async with remote_database.transaction(tenant):
            pass
    password_server.run()

    async def works() -> bool:
        try:
            async with remote_database.transaction(tenant) as transaction:
                return await ask(transaction) == "patient"
        except DatabaseUnavailableError:
            return False

    await wait_for_async(works, what="the restarted server")


@pytest.fixture
def own_server(memory_dir: Path) -> Iterator[EmbeddedServer]:
    """An embedded server that a test may kill."""
    copy_prepared(memory_dir / "mortal")
    with EmbeddedServer.start(memory_dir / "mortal") as server:
        yield server
    assert stop(memory_dir / "mortal")


@pytest.fixture
async def mortal_database(own_server: EmbeddedServer) -> AsyncIterator[Database]:
    async def revive() -> None:
        await asyncio.to_thread(own_server.ensure_running)

    database = Database(await embedded_access(own_server, LIMITS), LIMITS, revive=revive)
    await database.open()
    yield database
    await database.aclose()


async def kill(server: EmbeddedServer) -> None:
    """Kill the postmaster, which is a child of this test session, and wait until it has ended."""
    pid = status(server.data_dir).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await wait_for(lambda: status(server.data_dir).pid != pid, what="the postmaster to die")


async def test_an_embedded_server_killed_while_idle_or_busy_is_restarted(
    own_server: EmbeddedServer, mortal_database: Database
) -> None:
    tenant = await mortal_database.open_tenant("undaunted")
    await kill(own_server)
    async with mortal_database.transaction(tenant) as transaction:
        assert await ask(transaction) == "undaunted"

    async def kill_it_at_work() -> None:
        async with asyncio.timeout(60), mortal_database.transaction(tenant) as transaction:
            await kill(own_server)
            while True:  # The process that serves us may outlive its postmaster for a moment.
                await ask(transaction)

    with pytest.raises(DatabaseUnavailableError):
        await kill_it_at_work()
    async with mortal_database.transaction(tenant) as transaction:
        assert await ask(transaction) == "undaunted"
