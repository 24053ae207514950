"""A real server on a loopback port, in its own thread."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import httpx

from mnemic.config import Settings
from mnemic.sdk.memory import AsyncMemory
from mnemic.sdk.tenants import Tenants
from mnemic.server.app import ServerApp, build_app
from mnemic.server.browser_sessions import COOKIE
from mnemic.server.limits import ServerLimits, limits_of
from mnemic.server.running import Server, listen, url_of
from mnemic.types.key import NewApiKey, Role

START_TIMEOUT_S = 120.0
CALL_TIMEOUT_S = 120.0
TLS = httpx.create_ssl_context()
"""For the clients of tests: each would read all certificates again, 20 ms of CPU time."""
UNLIMITED = {"invalid_rate_per_minute": 0, "tenant_invalid_rate_per_minute": 0}
"""Most tests send invalid requests as fast as they can."""

Result = TypeVar("Result")
Prepare = Callable[[ServerApp], None]


@dataclass
class RunningServer:
    """A running server; `memory` and `create_key` access its database directly."""

    url: str
    tenants: Tenants
    server_app: ServerApp
    loop: asyncio.AbstractEventLoop
    server: Server

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the event loop of the server."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(CALL_TIMEOUT_S)

    def stop(self) -> None:
        """Stop the server, as a signal does."""
        self.server.should_exit = True

    def memory(self, tenant: str) -> AsyncMemory:
        """A memory in the database of the server; its calls go through `run`."""
        return self.run(self.tenants.memory(tenant))

    def create_key(self, tenant: str, role: Role, **options: Any) -> NewApiKey:
        """A key for a tenant."""
        return self.run(self.memory(tenant).keys.create(role=role, **options))

    def client(self, key: str | None = None, **options: Any) -> httpx.Client:
        """A client that carries a key, if one is given."""
        headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=CALL_TIMEOUT_S, verify=TLS, **options)


def cookie_of(client: httpx.Client, name: str = COOKIE) -> str:
    """What a server names its cookie: servers on other ports of the host have others."""
    return f"{name}_{client.base_url.port}"


@contextmanager
def running_server(
    data_dir: Path, *, prepare: Prepare = lambda server_app: None, **limits: Any
) -> Iterator[RunningServer]:
    """A server over a data folder with the test model; `limits` replace those of the settings."""
    settings = Settings(data_dir=data_dir, embedder="test")
    started, servers, failures = threading.Event(), list[RunningServer](), list[Exception]()

    async def serve() -> None:
        async with Tenants(settings) as tenants:
            bounds: ServerLimits = replace(limits_of(settings), **(UNLIMITED | limits))
            server_app = build_app(tenants, settings, limits=bounds)
            prepare(server_app)
            with listen("127.0.0.1", 0) as listening:
                server = Server(server_app, on_started=started.set)
                loop = asyncio.get_running_loop()
                servers.append(RunningServer(url_of(listening), tenants, server_app, loop, server))
                await server.serve(sockets=[listening])

    def run() -> None:
        try:
            asyncio.run(serve())
        except Exception as error:
            failures.append(error)
            started.set()
            raise

    thread = threading.Thread(target=run, name="mnemic server")
    thread.start()
    assert started.wait(START_TIMEOUT_S), "the server starts"
    assert not failures, failures
    (running,) = servers
    try:
        yield running
    finally:
        running.stop()
        thread.join(START_TIMEOUT_S)
    assert not thread.is_alive(), "the server ends"
