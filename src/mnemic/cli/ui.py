"""`mnemic ui`: open the dashboard in a browser, without an API key, on the machine of the database.

It prints a link that opens one session with the role admin. Where no server of this place listens yet, it
starts one on the loopback address, which runs until Ctrl-C; the session ends with it.
"""

import asyncio
import webbrowser
from typing import Annotated

import typer

from mnemic.cli.options import DataDir, Embedder, TenantName, Url, settings_from
from mnemic.cli.output import print_line, remark
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
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
) -> None:
    """Open the dashboard by a link that works once, for five minutes; start a server if none runs."""
    require_server()
    settings = settings_from(url, data_dir, tenant)
    if uses_http(settings):
        raise ConfigurationError(
            "mnemic ui needs the database itself. To use another server, open its address with /ui at the "
            "end, and sign in with an API key."
        )
    asyncio.run(open_dashboard(settings, port, embedder=embedder, open_browser=open_browser))


async def open_dashboard(
    settings: Settings, port: int = DEFAULT_PORT, *, embedder: str | None = None, open_browser: bool
) -> None:
    """Print a link to the dashboard of the tenant in the settings, and serve it if no server does yet."""
    # The extra `server` is installed: `ui` has looked.
    from mnemic.server.place_proof import proves_itself  # noqa: PLC0415 (extra: server)

    prepare_process()
    async with Tenants(settings, embedder=embedder) as tenants:
        database = (await tenants.core(settings.tenant)).storage.tenant_database
        link = await sessions.create_link(database, process=PROCESS)
        running = f"http://{HOST}:{port}"
        if port and await proves_itself(running, port, tenants.database.access.key):
            _show(running, link, open_browser=open_browser)
            return
        try:
            await serve_tenants(
                tenants,
                settings,
                HOST,
                port,
                on_started=lambda address: _show(address, link, open_browser=open_browser),
            )
        finally:
            await _end(database, link)


async def _end(database: TenantDatabase, link: NewLink) -> None:
    """Revoke the key behind the link: the server that it was for has ended."""
    await keys.revoke(database, Scope(None, GLOBAL_CHANNEL, PROCESS), link.key_id)


def _show(address: str, link: NewLink, *, open_browser: bool) -> None:
    target = f"{address}/ui/sign-in?link={link.secret}"
    print_line(target)
    remark("This link opens the dashboard once, within five minutes.")
    if open_browser and _has_window():
        webbrowser.open(target)


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
