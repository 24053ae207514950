"""Run the app: the socket, uvicorn's limits, a graceful stop.

States: *starting* → *serving* → (SIGTERM, SIGINT) *stopping* → *ended*. While it stops, the server accepts no
connections, ends streams of events, and gives requests `GRACEFUL_STOP_S` to finish. A second Ctrl-C ends it
without waiting for them.
"""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address

import uvicorn
from uvicorn.server import HANDLED_SIGNALS

from mnemic.errors import ConfigurationError
from mnemic.govern import keys
from mnemic.sdk.tenants import Tenants
from mnemic.server import limits
from mnemic.server.app import ServerApp
from mnemic.server.protocol import BoundedProtocol

BACKLOG = 1024


class Server(uvicorn.Server):
    """uvicorn that ends streams when it stops, and exits with 0 after a signal."""

    def __init__(self, server_app: ServerApp, *, on_started: Callable[[], None] = lambda: None) -> None:
        super().__init__(_config(server_app))
        self._server_app = server_app
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call `on_started`."""
        await super().startup(sockets)
        self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams first, because they never end by themselves; then stop as uvicorn does."""
        self._server_app.streams.stop()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals as uvicorn does, but do not raise them again at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in HANDLED_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 means any free port. ConfigurationError if that fails."""
    try:
        ((family, kind, protocol, _, address), *_) = socket.getaddrinfo(host, port, proto=socket.IPPROTO_TCP)
        # With the protocol number: otherwise asyncio does not recognise TCP and leaves Nagle's algorithm on,
        # which delays every response by 40 ms.
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(BACKLOG)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise ConfigurationError(
            f"Cannot listen on port {port} of {host}: {error.strerror or error}. "
            "Choose another one with --port and --host."
        ) from error
    return listening


def url_of(listening: socket.socket) -> str:
    """The URL of the server."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def check_host(host: str, tenants: Tenants) -> None:
    """Refuse to listen beyond loopback while there is no key: no client could use the server anyway."""
    if not await asyncio.to_thread(is_loopback, host) and not await keys.any_exist(tenants.database):
        raise ConfigurationError(
            f"{host} accepts connections from other machines, but there is no API key. Create one first: "
            "mnemic keys create --role admin"
        )


def is_loopback(host: str) -> bool:
    """Whether all addresses of a host are loopback addresses."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigurationError(
            f"--host {host} is not an address of this machine: {error.strerror}."
        ) from error
    return all(ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in found)


def _config(server_app: ServerApp) -> uvicorn.Config:
    return uvicorn.Config(
        server_app.app,
        http=BoundedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        # Clients can write anything into X-Forwarded-For.
        proxy_headers=False,
        server_header=False,
        limit_concurrency=limits.CONNECTIONS_MAX,
        timeout_keep_alive=limits.KEEP_ALIVE_S,
        timeout_graceful_shutdown=limits.GRACEFUL_STOP_S,
    )
