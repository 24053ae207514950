"""The places that a memory can live in, and both faces of the SDK: every test here runs on all of them.

A server, a database and a tenant serve the whole session; an owner is each test's own. Owners have letters
that a URL and a header cannot carry as they are.
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
from tests.conformance.sync_as_async import Awaited
from tests.password_server import PasswordServer
from tests.running_folder import running
from tests.server.running import RunningServer, running_server

TENANT = "conformance"
PLACES = ("embedded", "url", "http")
FACES = ("async", "sync")

Options = dict[str, Any]


@pytest.fixture(scope="session")
def folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder whose server runs all the time."""
    yield from running(memory_dir / "conformance")


@pytest.fixture(scope="session")
def served(folder: Path) -> Iterator[RunningServer]:
    """A Mnemic server over the same folder."""
    with running_server(folder, recall_rate_per_minute=0) as server:
        yield server


@pytest.fixture(scope="session")
def own_url(password_server: PasswordServer) -> str:
    """A database of the user's own."""
    password_server.execute("CREATE DATABASE conformance")
    url = password_server.url(dbname="conformance")
    asyncio.run(migrate(url, Limits()))
    return url


@pytest.fixture(scope="session", params=PLACES)
def place(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def options(place: str, request: pytest.FixtureRequest) -> Options:
    """How to open a memory in the place; what it needs is started when it is first asked for."""
    if place == "http":
        served: RunningServer = request.getfixturevalue("served")
        return {"url": served.url, "api_key": served.create_key(TENANT, "admin").key}
    given = {"embedder": "test", "tenant": TENANT}
    if place == "embedded":
        return {"data_dir": request.getfixturevalue("folder"), **given}
    return {"url": request.getfixturevalue("own_url"), **given}


@pytest.fixture
def owner() -> str:
    """An owner whom nobody has seen before."""
    return f"Zoë/ü&? {uuid4()}"


@pytest.fixture(scope="session")
def sync_memory(options: Options) -> Iterator[Memory]:
    """The synchronous memory of a place, opened once."""
    with Memory(**options) as memory:
        yield memory


@pytest.fixture(params=FACES)
async def memory(
    request: pytest.FixtureRequest, owner: str, options: Options, sync_memory: Memory
) -> AsyncIterator[Any]:
    """The memory of the test's owner, in each place and with each face."""
    if request.param == "sync":
        yield Awaited(sync_memory.scope(owner=owner))
        return
    async with AsyncMemory(owner=owner, **options) as memory:
        yield memory
