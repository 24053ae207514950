"""Every test here runs on every transport, with the async and the synchronous API.

A server, a database and a tenant serve the whole session; each test has its own owner. The names of owners
contain characters that URLs and headers must escape.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from mnemic import AsyncMemory, Memory
from mnemic.db.connection import Limits
from mnemic.db.migrate import migrate
from tests.conformance.sync_as_async import SyncAsAsync
from tests.password_server import PasswordServer
from tests.running_folder import running
from tests.server.running import RunningServer, running_server

TENANT = "conformance"
TRANSPORTS = ("embedded", "url", "http")
APIS = ("async", "sync")

Options = dict[str, Any]


@pytest.fixture(scope="session")
def folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder whose server runs during the whole session."""
    yield from running(memory_dir / "conformance")


@pytest.fixture(scope="session")
def served(folder: Path) -> Iterator[RunningServer]:
    """A Mnemic server on the same folder."""
    with running_server(folder, recall_rate_per_minute=0) as server:
        yield server


@pytest.fixture(scope="session")
def own_url(password_server: PasswordServer) -> str:
    """A `postgresql://` database."""
    password_server.execute("CREATE DATABASE conformance")
    url = password_server.url(dbname="conformance")
    asyncio.run(migrate(url, Limits()))
    return url


@pytest.fixture(scope="session", params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def options(transport: str, request: pytest.FixtureRequest) -> Options:
    """The options to open a memory on the transport; its server starts on first use."""
    if transport == "http":
        served: RunningServer = request.getfixturevalue("served")
        return {"url": served.url, "api_key": served.create_key(TENANT, "admin").key}
    given = {"embedder": "test", "tenant": TENANT}
    if transport == "embedded":
        return {"data_dir": request.getfixturevalue("folder"), **given}
    return {"url": request.getfixturevalue("own_url"), **given}


@pytest.fixture
def owner() -> str:
    """An owner that no other test uses."""
    return f"Zoë/ü&? {uuid4()}"


@pytest.fixture(scope="session")
def sync_memory(options: Options) -> Iterator[Memory]:
    """The synchronous memory of a transport, opened once."""
    with Memory(**options) as memory:
        yield memory


@pytest.fixture(params=APIS)
async def tenant_memory(
    request: pytest.FixtureRequest, options: Options, sync_memory: Memory
) -> AsyncIterator[Any]:
    """The memory of the whole tenant, as an administrator has it."""
    if request.param == "sync":
        yield SyncAsAsync(sync_memory)
        return
    async with AsyncMemory(**options) as memory:
        yield memory


@pytest.fixture(params=APIS)
async def memory(
    request: pytest.FixtureRequest, owner: str, options: Options, sync_memory: Memory
) -> AsyncIterator[Any]:
    """The memory of the test's owner, on each transport and with each API."""
    if request.param == "sync":
        yield SyncAsAsync(sync_memory.scope(owner=owner))
        return
    async with AsyncMemory(owner=owner, **options) as memory:
        yield memory
