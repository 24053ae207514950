"""A database behind a network that can stall."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from mnemic.db import connection
from mnemic.db.access import url_access
from mnemic.db.connection import Limits
from mnemic.db.database import Database
from mnemic.db.migrate import migrate
from tests.conftest import LIMITS, open_database
from tests.password_server import PasswordServer
from tests.stalling_proxy import StallingProxy, stalling_proxy

SHORT = Limits(pool_size=4, statement_timeout_s=2, connect_timeout_s=4)


@pytest.fixture(scope="session")
def remote_database_url(password_server: PasswordServer) -> str:
    """A database on the password server, not migrated."""
    name = f"stalling_{uuid4().hex[:8]}"
    password_server.execute(f"CREATE DATABASE {name}")
    return password_server.url(dbname=name)


@pytest.fixture
async def proxy(password_server: PasswordServer) -> AsyncIterator[StallingProxy]:
    async with stalling_proxy(password_server.port) as proxy:
        yield proxy


@pytest.fixture
async def stalling_database(
    remote_database_url: str,
    password_server: PasswordServer,
    proxy: StallingProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Database]:
    """A database that is reached through the proxy, with a short limit for answers."""
    await migrate(remote_database_url, LIMITS)
    monkeypatch.setattr(connection, "ANSWER_MARGIN_S", 0.5)
    url = remote_database_url.replace(f":{password_server.port}/", f":{proxy.port}/")
    async with open_database(await url_access(url, SHORT, key=None), SHORT) as database:
        yield database
