"""Fixtures for every test that needs a database: one server, one migrated template, a clone per test.

The template is the embedded server's own database, created and migrated as `Memory()` does. A test that
uses `database`, `access`, `admin` or `connect_as` gets a clone of it. Clones share the signing key of the
template, and so the login that is derived from it.

A clone, and connections that plan every query for the first time, cost a test some 100 ms of CPU time.
Folders whose tests look at their own two tenants only override `own_database`: they share one database, which
stays open. Tests that look at a whole database, change its schema or run the jobs of all tenants stay on a
clone.
"""

import asyncio
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import LiteralString
from uuid import uuid4

import hypothesis
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from mnemic.db.access import DATABASE_NAME, Access, embedded_access
from mnemic.db.connection import Limits
from mnemic.db.database import Database
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer, stop
from mnemic.db.tenancy import Tenant
from mnemic.retain import comparing
from tests.password_server import PasswordServer
from tests.postgres_binaries import is_other_postgres, let_connect, tested_binaries
from tests.prepared_folder import copy_prepared
from tests.proofs import begin_as
from tests.warm_start.starting import WarmStart

# Processes that a shell starts in the background ignore SIGINT, and so would the server.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes depends on what else the machine does. The suite tries the same examples each
# time, so that it fails for what was changed and not by chance; `make test-slow` tries new ones.
hypothesis.settings.register_profile(
    "suite",
    deadline=None,
    derandomize="SLOW_TESTS" not in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("suite")

LIMITS = Limits(pool_size=4, statement_timeout_s=60, connect_timeout_s=30)
WRITERS = 16
"""How many writers tests run at once where many are needed."""

TASKS_OF_MEMORIES = "mnemic "
"""How the names of background tasks begin. Those of connection pools begin with `mnemic-`."""

SHARED_MEMORY = Path("/dev/shm")
MEMORY_NEEDED_BYTES = 2 * 1024**3
# Durability does not matter here, and no background activity should disturb a test.
SERVER_SETTINGS = {"autovacuum": "off", "synchronous_commit": "off", "max_connections": "200"}

AppConnection = psycopg.Connection[tuple[object, ...]]
ConnectAs = Callable[[Tenant | None], AppConnection]


# While tests are collected, the garbage collector would look at everything again and again: half a second of
# CPU time in each part of the suite.
gc.disable()


def pytest_collection_finish() -> None:
    """Keep the garbage collector from looking at modules and tests: they stay to the end."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _leave_no_tasks(request: pytest.FixtureRequest) -> None:
    """For async tests only: a browser that a test drives has a running loop, which bars any other."""
    if request.node.get_closest_marker("asyncio") is not None:
        request.getfixturevalue("_end_leftover_tasks")


@pytest.fixture
async def _end_leftover_tasks() -> AsyncIterator[None]:
    """Cancel what memories that a test did not close still do, as the end of its own event loop would."""
    yield
    leftover = [task for task in asyncio.all_tasks() if task.get_name().startswith(TASKS_OF_MEMORIES)]
    for task in leftover:
        task.cancel()
    await asyncio.gather(*leftover, return_exceptions=True)


@pytest.fixture(scope="session")
def memory_dir() -> Iterator[Path]:
    """A private folder in main memory, if there is enough: on a disk, creating a database takes 0.5 s."""
    folder = Path(tempfile.mkdtemp(prefix="mnemic-test-", dir=_roomy_folder()))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def warm_start(memory_dir: Path) -> Iterator[WarmStart]:
    """A quick way to start `mnemic` and examples as processes of their own."""
    with WarmStart.running(memory_dir / "warm") as started:
        yield started


def _roomy_folder() -> Path:
    if not os.access(SHARED_MEMORY, os.W_OK) or shutil.disk_usage(SHARED_MEMORY).free < MEMORY_NEEDED_BYTES:
        return Path(tempfile.gettempdir())
    return SHARED_MEMORY


@pytest.fixture(scope="session")
def server(memory_dir: Path) -> Iterator[EmbeddedServer]:
    """The embedded server of this session."""
    data_dir = memory_dir / "server"
    if not is_other_postgres():
        copy_prepared(data_dir)
    with EmbeddedServer.start(
        data_dir, server_settings=SERVER_SETTINGS, binaries=tested_binaries()
    ) as server:
        let_connect(data_dir)
        yield server
    assert stop(data_dir), "the server ends with the session"


class Databases:
    """Creates databases on the server, and drops them after use."""

    def __init__(self, connection: AppConnection, *, is_in_memory: bool) -> None:
        self._connection = connection
        self._is_in_memory = is_in_memory
        self._done: list[str] = []
        self._made = 0

    def make(self, *, template: str) -> str:
        self._made += 1
        name = f"test_{self._made}"
        # Copying files waits for a checkpoint. In memory that takes half the CPU time of writing the pages to
        # the log, creating and dropping together; on a disk it takes three times as long.
        if self._is_in_memory:
            self.run("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy", name, template)
        else:
            self.run("CREATE DATABASE {} TEMPLATE {} STRATEGY wal_log", name, template)
        return name

    def give_back(self, name: str) -> None:
        """Drop it one test later: right after a connection was closed, dropping would take 0.1 s."""
        for done in self._done:
            self.run("DROP DATABASE {} WITH (FORCE)", done)
        self._done = [name]

    def run(self, statement: LiteralString, *names: str) -> None:
        self._connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


@pytest.fixture(scope="session")
def databases(server: EmbeddedServer) -> Iterator[Databases]:
    """With one connection for all: starting a server process for each statement takes 10 ms of CPU time."""
    conninfo = server.conninfo(user=ADMIN_ROLE, dbname="postgres")
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield Databases(connection, is_in_memory=SHARED_MEMORY in server.data_dir.parents)


@pytest.fixture(scope="session")
def template_access(server: EmbeddedServer, databases: Databases) -> Access:
    """Access to the template, which refuses connections: a database in use cannot be cloned."""
    access = asyncio.run(embedded_access(server, LIMITS))
    databases.run("ALTER DATABASE {} ALLOW_CONNECTIONS false", DATABASE_NAME)
    return access


@pytest.fixture
def own_database() -> bool:
    """Whether each test has a database of its own. A folder or file overrides this fixture."""
    return True


@pytest.fixture
def database_name(own_database: bool, request: pytest.FixtureRequest) -> str:
    """A migrated database for one test, or the one that tests share."""
    name: str = request.getfixturevalue("cloned_database_name" if own_database else "shared_database_name")
    return name


@pytest.fixture
def cloned_database_name(template_access: Access, databases: Databases) -> Iterator[str]:
    """A migrated database for one test."""
    name = databases.make(template=DATABASE_NAME)
    yield name
    databases.give_back(name)


@pytest.fixture(scope="session")
def shared_database_name(template_access: Access, databases: Databases) -> str:
    """A migrated database for many tests."""
    return databases.make(template=DATABASE_NAME)


@pytest.fixture
def empty_database_name(databases: Databases) -> Iterator[str]:
    """An empty database for one test."""
    name = databases.make(template="template0")
    yield name
    databases.give_back(name)


@pytest.fixture
def admin_conninfo(server: EmbeddedServer, database_name: str) -> str:
    """Connection string of the superuser for the test's database."""
    return server.conninfo(user=ADMIN_ROLE, dbname=database_name)


@pytest.fixture
def empty_conninfo(server: EmbeddedServer, empty_database_name: str) -> str:
    """Connection string of the superuser for the empty database."""
    return server.conninfo(user=ADMIN_ROLE, dbname=empty_database_name)


@pytest.fixture
def admin(admin_conninfo: str) -> Iterator[AppConnection]:
    """The superuser's connection to the test's database, in autocommit mode."""
    with psycopg.connect(admin_conninfo, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def shared_admin(
    template_access: Access, databases: Databases, server: EmbeddedServer
) -> Iterator[AppConnection]:
    """The superuser's connection to a database that the read-only tests of a module share."""
    name = databases.make(template=DATABASE_NAME)
    with psycopg.connect(server.conninfo(user=ADMIN_ROLE, dbname=name), autocommit=True) as connection:
        yield connection
    databases.give_back(name)


def access_to(template_access: Access, database_name: str) -> Access:
    """The template's access, but to a clone."""
    return replace(
        template_access,
        conninfo=lambda: make_conninfo(template_access.conninfo(), dbname=database_name),
    )


@pytest.fixture
def access(template_access: Access, database_name: str) -> Access:
    """The application's access to the test's database."""
    return access_to(template_access, database_name)


@asynccontextmanager
async def open_database(access: Access, limits: Limits = LIMITS) -> AsyncIterator[Database]:
    """Open a database, and close it in any case: an open pool keeps the event loop running."""
    database = Database(access, limits)
    try:
        await database.open()
        yield database
    finally:
        await database.aclose()


@pytest.fixture
def database(own_database: bool, request: pytest.FixtureRequest) -> Database:
    """The test's database, open."""
    database: Database = request.getfixturevalue("cloned_database" if own_database else "shared_database")
    return database


@pytest.fixture
async def cloned_database(access: Access) -> AsyncIterator[Database]:
    """A database of the test's own, open."""
    async with open_database(access) as database:
        yield database


@pytest.fixture(scope="session")
async def shared_database(template_access: Access, shared_database_name: str) -> AsyncIterator[Database]:
    """The database that tests share, open, with a connection for each of many writers."""
    limits = replace(LIMITS, pool_size=WRITERS)
    async with open_database(access_to(template_access, shared_database_name), limits) as database:
        yield database


@pytest.fixture
async def tenant_a(database: Database, own_database: bool) -> Tenant:
    return await database.open_tenant("tenant a" if own_database else f"tenant a {uuid4()}")


@pytest.fixture
async def tenant_b(database: Database, own_database: bool) -> Tenant:
    return await database.open_tenant("tenant b" if own_database else f"tenant b {uuid4()}")


@pytest.fixture
def connect_as(access: Access) -> Iterator[ConnectAs]:
    """Opens plain connections with the application's login, inside a transaction of a tenant.

    With None, in a transaction without a proof.
    """
    opened: list[AppConnection] = []

    def connect(tenant: Tenant | None) -> AppConnection:
        connection = psycopg.connect(access.conninfo(), autocommit=True)
        opened.append(connection)
        begin_as(connection, access.key, tenant)
        return connection

    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture(scope="session")
def password_server() -> Iterator[PasswordServer]:
    """A PostgreSQL like the user's own: on a TCP port, with passwords."""
    with PasswordServer.start(_roomy_folder()) as server:
        yield server


@pytest.fixture
def no_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memories wait in the deduplication backlog until a call compares them, as under constant writing."""
    monkeypatch.setattr(comparing, "PAUSE_S", 3_600.0)
