"""`mnemic proxy`: the proxy between agents and the APIs of model providers.

It needs the extras `server` and `proxy`, which are imported only here.
"""

import asyncio
import os
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Annotated

import typer

from mnemic.cli.options import DatabaseUrl, DataDir, Embedder, Json, Owner, TenantName, settings_from
from mnemic.cli.output import print_json, print_line, remark
from mnemic.cli.serve import prepare_process, require_server, working
from mnemic.config import Settings
from mnemic.errors import ConfigurationError, install_extra
from mnemic.runtime.storage import uses_http
from mnemic.sdk.tenants import Tenants

DEFAULT_PORT = 8421
NEEDED = ("orjson", "zstandard")


def proxy(
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 listens on all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")] = DEFAULT_PORT,
    require_key: Annotated[
        bool, typer.Option(help="Refuse requests without an API key, also on a loopback address.")
    ] = False,
    worker: Annotated[bool, typer.Option(help="Also run a worker for jobs.")] = True,
    owner: Owner = None,
    url: DatabaseUrl = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Give the memory to agents: they use this address instead of their provider's. Runs until Ctrl-C."""
    require_server()
    require_proxy()
    settings = settings_from(url, data_dir, tenant)
    if uses_http(settings):
        raise ConfigurationError("mnemic proxy needs the database itself, not the URL of a Mnemic server.")
    if owner is not None:
        settings = settings.model_copy(update={"owner": owner})
    asyncio.run(_run(settings, embedder, host, port, require_key=require_key, worker=worker, json=json))


async def _run(
    settings: Settings,
    embedder: str | None,
    host: str,
    port: int,
    *,
    require_key: bool,
    worker: bool,
    json: bool,
) -> None:
    """Open the database, serve until a signal comes, and close everything."""
    # The extras are installed: `proxy` has looked.
    from mnemic.proxy.standalone import open_proxy  # noqa: PLC0415 (extras: server, proxy)
    from mnemic.server.running import (  # noqa: PLC0415 (extra: server)
        Server,
        check_host,
        collect_garbage_rarely,
        freeze_loaded_objects,
        is_loopback,
        listen,
        url_of,
    )

    prepare_process()
    async with Tenants(settings, embedder=embedder) as tenants:
        await check_host(host, tenants)
        keyless = not require_key and await asyncio.to_thread(is_loopback, host)
        async with open_proxy(tenants, settings, allows_keyless=keyless) as proxy_app:
            with listen(host, port) as listening:
                address = url_of(listening)
                server = Server(proxy_app, on_started=lambda: _say_started(address, keyless, json=json))
                freeze_loaded_objects()
                collect_garbage_rarely()
                async with working(tenants) if worker else nullcontext():
                    await server.serve(sockets=[listening])


def require_proxy() -> None:
    """ConfigurationError if a package of the extra `proxy` is missing."""
    if any(find_spec(module) is None for module in NEEDED):
        raise ConfigurationError(f"This needs an extra. {install_extra('proxy')}.")


def _say_started(address: str, keyless: bool, *, json: bool) -> None:
    if json:
        print_json({"url": address, "pid": os.getpid()})
        return
    print_line(f"The proxy listens at {address}")
    remark(f"Claude Code: ANTHROPIC_BASE_URL={address} claude")
    remark(f"OpenAI clients: OPENAI_BASE_URL={address}/v1")
    if not keyless:
        remark("Every request needs an API key: the header x-mnemic-key, or /key/mn_… after the address.")
