"""`mnemic serve`: the REST server, with a worker and the MCP server.

It needs the extra `server`, which is imported only here; MCP is served if the extra `mcp` is installed.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.options import DatabaseUrl, DataDir, Embedder, Json, settings_from
from mnemic.cli.output import print_json, print_line, remark
from mnemic.config import Settings
from mnemic.errors import ConfigurationError, install_extra
from mnemic.govern import keys
from mnemic.sdk.tenants import Tenants

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from mnemic.server.app import ServerApp

DEFAULT_PORT = 8420
NEEDED = ("fastapi", "jinja2", "uvicorn", "prometheus_client")


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 listens on all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")] = DEFAULT_PORT,
    worker: Annotated[bool, typer.Option(help="Also run a worker for jobs.")] = True,
    mcp: Annotated[
        bool | None, typer.Option(help="Also serve MCP at /mcp. Default: if the extra mcp is installed.")
    ] = None,
    url: DatabaseUrl = None,
    data_dir: DataDir = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Serve all tenants over HTTP until SIGTERM or Ctrl-C. Every request needs an API key."""
    require_server()
    with_mcp = find_spec("mcp") is not None if mcp is None else mcp
    if with_mcp:
        _require("mcp", ("mcp",))
    settings = settings_from(url, data_dir)
    asyncio.run(_run(settings, embedder, host, port, worker=worker, with_mcp=with_mcp, json=json))


async def _run(
    settings: Settings,
    embedder: str | None,
    host: str,
    port: int,
    *,
    worker: bool,
    with_mcp: bool,
    json: bool,
) -> None:
    """Open the database, serve until a signal comes, and close everything."""
    prepare_process()
    importing = asyncio.create_task(asyncio.to_thread(import_app))
    async with Tenants(settings, embedder=embedder, has_embedding_process=True) as tenants:
        await importing
        has_keys = await keys.any_exist(tenants.database)
        await serve_tenants(
            tenants,
            settings,
            host,
            port,
            worker=worker,
            with_mcp=with_mcp,
            on_started=lambda address: _say_started(address, has_keys, json=json),
        )


def import_app() -> None:
    """Import what the app needs, which takes a third of the start, while the database starts."""
    for module in ("mnemic.server.app", "mnemic.dashboard.app"):
        import_module(module)


def prepare_process() -> None:
    """Prepare this process for a server: its logs, its limit of open files, the threads of its event loop."""
    from mnemic.server.logs import log_to_stderr  # noqa: PLC0415 (extra: server)
    from mnemic.server.running import raise_file_limit, start_threads  # noqa: PLC0415 (extra: server)

    log_to_stderr()
    raise_file_limit()
    start_threads()


async def serve_tenants(
    tenants: Tenants,
    settings: Settings,
    host: str,
    port: int,
    *,
    worker: bool = True,
    with_mcp: bool | None = None,
    on_started: Callable[[str], None],
) -> None:
    """Serve open tenants until a signal comes; `on_started` is called with the address of the server.

    Without `with_mcp`, MCP is served if its extra is installed.
    """
    # The extra `server` is installed: the commands have looked.
    from mnemic.dashboard.app import mount_dashboard  # noqa: PLC0415 (extra: server)
    from mnemic.server.app import build_app  # noqa: PLC0415 (extra: server)
    from mnemic.server.running import (  # noqa: PLC0415 (extra: server)
        Server,
        check_host,
        freeze_loaded_objects,
        listen,
        url_of,
    )

    await check_host(host, tenants)
    server_app = build_app(tenants, settings)
    if with_mcp or (with_mcp is None and find_spec("mcp") is not None):
        _add_mcp(server_app, host)
    mount_dashboard(server_app)
    with listen(host, port) as listening:
        address = url_of(listening)
        server = Server(server_app, on_started=lambda: on_started(address))
        freeze_loaded_objects()
        async with _proxying(server_app, tenants, settings), working(tenants) if worker else nullcontext():
            await server.serve(sockets=[listening])


@asynccontextmanager
async def _proxying(server_app: "ServerApp", tenants: Tenants, settings: Settings) -> AsyncIterator[None]:
    """Serve the proxy at /proxy, if its extra is installed. Every request to it needs an API key."""
    if find_spec("orjson") is None or find_spec("zstandard") is None:
        yield
        return
    from mnemic.proxy.app import mounted_proxy  # noqa: PLC0415 (extra: proxy)

    async with mounted_proxy(server_app, tenants, settings):
        yield


def _add_mcp(server_app: "ServerApp", host: str) -> None:
    """Mount MCP. It checks the Host header only on loopback addresses: elsewhere a server has many names.

    Its library is a sixth of what a server imports; that waits for the first request.
    """
    from mnemic.server.app import mount_mcp  # noqa: PLC0415 (extra: server)
    from mnemic.server.deferred_app import DeferredApp  # noqa: PLC0415 (extra: server)
    from mnemic.server.running import is_loopback  # noqa: PLC0415 (extra: server)

    is_local = is_loopback(host)

    def build() -> "ASGIApp":
        from mnemic.mcp.http import LOOPBACK_HOSTS, build_http_app  # noqa: PLC0415 (extra: mcp)

        hosts = LOOPBACK_HOSTS if is_local else None
        return build_http_app(server_app.authenticator.resolve, allowed_hosts=hosts)

    mount_mcp(server_app.app, DeferredApp(build))


@asynccontextmanager
async def working(tenants: Tenants) -> AsyncIterator[None]:
    """Run a worker beside the server. If it fails, the server ends, too, so that somebody notices."""
    worker = tenants.worker()
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(worker.run())
            try:
                yield
            finally:
                worker.stop()
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed


def _say_started(address: str, has_keys: bool, *, json: bool) -> None:
    if json:
        print_json({"url": address, "pid": os.getpid()})
        return
    print_line(f"Mnemic serves at {address}")
    print_line(f"Dashboard: {address}/ui")
    if not has_keys:
        remark("There is no API key yet. Create one: mnemic keys create --role write")


def require_server() -> None:
    """ConfigurationError if a package of the extra `server` is missing."""
    _require("server", NEEDED)


def _require(extra: str, modules: tuple[str, ...]) -> None:
    """ConfigurationError that names the extra if a package of it is missing."""
    if any(find_spec(module) is None for module in modules):
        raise ConfigurationError(f"This needs an extra. {install_extra(extra)}.")
