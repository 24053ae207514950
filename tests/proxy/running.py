"""A real proxy on a loopback port, in its own thread."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx

from mnemic.config import Settings
from mnemic.proxy.standalone import open_proxy
from mnemic.sdk.memory import AsyncMemory
from mnemic.sdk.tenants import Tenants
from mnemic.server.running import Server, listen, url_of
from mnemic.types.key import NewApiKey, Role
from tests.server.running import TLS

START_TIMEOUT_S = 120.0
CALL_TIMEOUT_S = 120.0

Result = TypeVar("Result")


@dataclass
class RunningProxy:
    """A running proxy; `memory` and `create_key` access its database directly."""

    url: str
    tenants: Tenants
    loop: asyncio.AbstractEventLoop
    server: Server

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the event loop of the proxy."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(CALL_TIMEOUT_S)

    def memory(self, tenant: str = "default") -> AsyncMemory:
        """A memory in the database of the proxy; its calls go through `run`."""
        return self.run(self.tenants.memory(tenant))

    def create_key(self, tenant: str, role: Role = "write", **options: Any) -> NewApiKey:
        """A key for a tenant."""
        return self.run(self.memory(tenant).keys.create(role=role, **options))

    def client(self, key: str | None = None) -> httpx.Client:
        """A client that carries a key of Mnemic, if one is given."""
        headers = {"x-mnemic-key": key} if key is not None else {}
        return httpx.Client(
            base_url=self.url, headers=headers, timeout=CALL_TIMEOUT_S, trust_env=False, verify=TLS
        )


@contextmanager
def running_proxy(
    data_dir: Path, *, anthropic: str, openai: str, keyless: bool = True, **settings: Any
) -> Iterator[RunningProxy]:
    """A proxy over a data folder with the test model, in front of these providers."""
    chosen = Settings(
        data_dir=data_dir,
        embedder="test",
        proxy_anthropic_url=anthropic,
        proxy_openai_url=openai,
        **settings,
    )
    started, running, failures = threading.Event(), list[RunningProxy](), list[Exception]()

    async def serve() -> None:
        async with (
            Tenants(chosen) as tenants,
            open_proxy(tenants, chosen, allows_keyless=keyless) as proxy,
        ):
            with listen("127.0.0.1", 0) as listening:
                server = Server(proxy, on_started=started.set)
                loop = asyncio.get_running_loop()
                running.append(RunningProxy(url_of(listening), tenants, loop, server))
                await server.serve(sockets=[listening])

    def run() -> None:
        try:
            asyncio.run(serve())
        except Exception as error:
            failures.append(error)
            started.set()
            raise

    # A daemon: a proxy that does not end fails its test, and must not keep the process alive.
    thread = threading.Thread(target=run, name="mnemic proxy", daemon=True)
    thread.start()
    assert started.wait(START_TIMEOUT_S), "the proxy starts"
    assert not failures, failures
    try:
        yield running[0]
    finally:
        running[0].server.should_exit = True
        thread.join(START_TIMEOUT_S)
    assert not thread.is_alive(), "the proxy ends"
