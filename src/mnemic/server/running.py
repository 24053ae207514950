"""Running the app: the socket, uvicorn's bounds, a stop that finishes what was begun.

States: *starting* → *serving* → (SIGTERM, SIGINT) *stopping* → *ended*. While it stops, no connection is
taken, streams of events are ended, requests have `GRACEFUL_STOP_S` to finish. A second Ctrl-C does not wait
for them.
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
    """uvicorn, which ends streams when it stops, and ends well when it is told to stop."""

    def __init__(self, server_app: ServerApp, *, on_started: Callable[[], None] = lambda: None) -> None:
        super().__init__(_config(server_app))
        self._server_app = server_app
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, which would not end by themselves; then everything else."""
        self._server_app.streams.stop()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn does it, but a signal is not raised once more at the end: it was obeyed."""
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
    """A socket that listens; port 0 is any that is free. ConfigurationError if it cannot be had."""
    try:
        ((family, kind, protocol, _, address), *_) = socket.getaddrinfo(host, port, proto=socket.IPPROTO_TCP)
        # The protocol by its number: without it asyncio does not know that it is TCP, and leaves Nagle's
        # algorithm on, which holds every answer back for 40 ms.
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
    """Where the server is reached."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def check_host(host: str, tenants: Tenants) -> None:
    """Refuse to be reached from elsewhere while nobody has a key: then nobody could use it but by mistake."""
    if not await asyncio.to_thread(is_loopback, host) and not await keys.any_exist(tenants.database):
        raise ConfigurationError(
            f"{host} can be reached from other machines, and there is no API key yet. Make one first: "
            "mnemic keys create --role admin"
        )


def is_loopback(host: str) -> bool:
    """Whether all addresses of a host are this machine's own."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigurationError(f"--host {host} is no address of this machine: {error.strerror}.") from error
    return all(ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in found)


def _config(server_app: ServerApp) -> uvicorn.Config:
    return uvicorn.Config(
        server_app.app,
        http=BoundedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        # What a client writes into X-Forwarded-For says nothing about where it is.
        proxy_headers=False,
        server_header=False,
        limit_concurrency=limits.CONNECTIONS_MAX,
        timeout_keep_alive=limits.KEEP_ALIVE_S,
        timeout_graceful_shutdown=limits.GRACEFUL_STOP_S,
    )
