"""`mnemic ui`: open the dashboard in a browser, without an API key, on the machine of the database.

It prints a link that opens one session with the role admin. Where no server of this database listens yet, it
starts one on the loopback address, which runs until Ctrl-C; the session ends with it.
"""

import asyncio
import webbrowser
from collections.abc import Callable
from typing import Annotated

import typer

from mnemic.cli.options import DatabaseUrl, DataDir, Embedder, Json, TenantName, settings_from
from mnemic.cli.output import print_json, print_line, remark
from mnemic.cli.serve import DEFAULT_PORT, prepare_process, require_server, serve_tenants
from mnemic.config import Settings
from mnemic.db.database import TenantDatabase
from mnemic.errors import ConfigurationError
from mnemic.govern import keys, sessions
from mnemic.govern.sessions import NewLink
from mnemic.runtime.storage import uses_http
from mnemic.sdk.tenants import Tenants
from mnemic.types.scope import GLOBAL_CHANNEL, Scope

HOST = "127.0.0.1"
PROCESS = "mnemic ui"


def ui(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the server; 0 starts one on a free port.")
    ] = DEFAULT_PORT,
    open_browser: Annotated[
        bool,
        typer.Option(
            "--open/--no-open",
            help="Open a browser. Other users of the machine may see its command line, which has the link.",
        ),
    ] = True,
    url: DatabaseUrl = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Open the dashboard by a link that works once, for five minutes; start a server if none runs."""
    require_server()
    settings = settings_from(url, data_dir, tenant).model_copy(update={"create_tenant": False})
    if uses_http(settings):
        raise ConfigurationError(
            "mnemic ui needs the database itself. To use another server, open its address with /ui at the "
            "end, and sign in with an API key."
        )
    show = _print_json if json else _print_link
    asyncio.run(open_dashboard(settings, port, show, embedder=embedder, open_browser=open_browser))


async def open_dashboard(
    settings: Settings,
    port: int,
    show: Callable[[str, NewLink], None],
    *,
    embedder: str | None = None,
    open_browser: bool,
) -> None:
    """Show a link to the dashboard of the tenant in the settings, and serve it if no server does yet.

    `show` gets the URL that opens the dashboard, and the link.
    """
    # The extra `server` is installed: `ui` has looked.
    from mnemic.server.database_proof import serves_database  # noqa: PLC0415 (extra: server)

    def started(address: str) -> None:
        target = f"{address}/ui/sign-in?link={link.secret}"
        show(target, link)
        if open_browser and _has_window():
            webbrowser.open(target)

    prepare_process()
    async with Tenants(settings, embedder=embedder, has_embedding_process=True) as tenants:
        database = (await tenants.core(settings.tenant)).storage.tenant_database
        link = await sessions.create_link(database, process=PROCESS)
        running = f"http://{HOST}:{port}"
        if port and await serves_database(running, port, tenants.database.access.key):
            started(running)
            return
        try:
            await serve_tenants(tenants, settings, HOST, port, on_started=started)
        finally:
            await _end(database, link)


async def _end(database: TenantDatabase, link: NewLink) -> None:
    """Revoke the key behind the link: the server that it was for has ended."""
    await keys.revoke(database, Scope(None, GLOBAL_CHANNEL, PROCESS), link.key_id)


def _print_link(target: str, link: NewLink) -> None:
    print_line(target)
    remark("This link opens the dashboard once, within five minutes.")


def _print_json(target: str, link: NewLink) -> None:
    print_json({"link": target, "expires_at": link.expires_at, "key_id": link.key_id})


def _has_window() -> bool:
    """Whether there is a browser with a window; one in the terminal would hide what is printed here."""
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return False
    is_in_terminal = isinstance(found, webbrowser.GenericBrowser) and not isinstance(
        found, webbrowser.BackgroundBrowser
    )
    return not is_in_terminal
