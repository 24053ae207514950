"""Run the app: the socket, uvicorn's limits, a graceful stop.

States: *starting* → *serving* → (SIGTERM, SIGINT) *stopping* → *ended*. While it stops, the server accepts no
connections, ends streams of events, and gives requests `GRACEFUL_STOP_S` to finish. A second Ctrl-C ends it
without waiting for them.
"""

import asyncio
import gc
import logging
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from ipaddress import ip_address
from time import monotonic
from typing import Any, Protocol

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import HANDLED_SIGNALS

from mnemic.db.started_threads import StartedThreads
from mnemic.errors import ConfigurationError
from mnemic.govern import keys
from mnemic.sdk.tenants import Tenants
from mnemic.server import limits
from mnemic.server.connections import ConnectionTable
from mnemic.server.limits import ServerLimits
from mnemic.server.protocol import BoundedProtocol

BACKLOG = 1024
GC_THRESHOLDS = (50_000, 20, 100)
"""New objects before a collection of the youngest, and collections of each generation before the next."""
FILES_RESERVED = 200
"""File descriptors that are left for the database, files and models, if the limit of the process allows."""
ACCEPT_FAILED = "socket.accept() out of system resource"
"""The message by which asyncio reports that it could not accept a connection."""
RETRY_FAILED = "Exception in callback BaseSelectorEventLoop._start_serving"
"""The beginning of its message when it tries again after the server has stopped listening."""
ACCEPT_LOGGED_EVERY_S = 60.0
ROOM_MADE_EVERY_S = 1.0
ROOM_CONNECTIONS = 16
"""Idle connections that are closed at a time if none can be accepted."""

DEFAULT_THREADS = 8
"""Threads for blocking calls such as reading a file; they wait most of the time."""

logger = logging.getLogger("mnemic.server")


class Servable(Protocol):
    """An ASGI app with its limits."""

    @property
    def app(self) -> ASGIApp:
        """The app."""

    @property
    def limits(self) -> ServerLimits:
        """Limits of its connections."""

    def stop(self) -> None:
        """Called before the server waits for requests in progress."""


class Server(uvicorn.Server):
    """uvicorn that stops the app first when it stops, and exits with 0 after a signal."""

    def __init__(self, server_app: Servable, *, on_started: Callable[[], None] = lambda: None) -> None:
        bounds = server_app.limits
        self._table = ConnectionTable(
            total_max=min(bounds.connections_max, _connections_by_files()),
            per_address_max=bounds.connections_per_address_max,
        )
        super().__init__(_config(server_app, self._table))
        self._server_app = server_app
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call `on_started`."""
        asyncio.get_running_loop().set_exception_handler(AcceptFailures(self._table).handle)
        await super().startup(sockets)
        self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the app first; then stop as uvicorn does."""
        self._server_app.stop()
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


class AcceptFailures:
    """Handles connections that cannot be accepted, because there are no file descriptors or no memory.

    asyncio tries again after a second, and reports each of up to `BACKLOG` failures by itself. Logging them
    all would fill the disk, so one line in `ACCEPT_LOGGED_EVERY_S` is logged. Some idle connections are
    closed to make room.
    """

    def __init__(self, table: ConnectionTable) -> None:
        self._table = table
        self._next_log_s = 0.0
        self._next_room_s = 0.0
        self._count = 0

    def handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle an error that asyncio reports; all others are logged as usual."""
        message = str(context.get("message"))
        if message.startswith(RETRY_FAILED):
            return
        if message != ACCEPT_FAILED:
            loop.default_exception_handler(context)
            return
        self._make_room()
        self._log(context.get("exception"))

    def _make_room(self) -> None:
        if monotonic() >= self._next_room_s:
            self._next_room_s = monotonic() + ROOM_MADE_EVERY_S
            for _ in range(ROOM_CONNECTIONS):
                self._table.close_longest_idle()

    def _log(self, error: object) -> None:
        self._count += 1
        if monotonic() >= self._next_log_s:
            logger.error(
                "cannot accept connections: %s; %d attempts failed. Raise the limit of open files "
                "(ulimit -n), or lower MNEMIC_MAX_CONNECTIONS.",
                error,
                self._count,
            )
            self._next_log_s, self._count = monotonic() + ACCEPT_LOGGED_EVERY_S, 0


def raise_file_limit() -> None:
    """Let this process open as many files as the system allows it: each connection is one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def start_threads() -> None:
    """Start all threads that the event loop needs, and see to it that processes need none (Linux).

    Starting one later, when there is no memory left, could block the event loop for ever
    (`mnemic.db.started_threads`).
    """
    asyncio.get_running_loop().set_default_executor(StartedThreads(DEFAULT_THREADS, name="mnemic-serve"))
    if sys.version_info < (3, 12) and sys.platform == "linux":
        # Newer versions use pidfd by themselves.
        watcher = asyncio.PidfdChildWatcher()
        watcher.attach_loop(asyncio.get_running_loop())
        asyncio.set_child_watcher(watcher)


def freeze_loaded_objects() -> None:
    """Exempt all objects that exist now from garbage collection; call it when everything is loaded.

    The modules, routes and schemas of a server are hundreds of thousands of objects, which live as long as
    the process. A full collection would visit all of them each time, which stops the event loop for
    100 to 150 ms; clients that send large documents cause one every few seconds.
    """
    gc.collect()
    gc.freeze()


def collect_garbage_rarely() -> None:
    """Look for cycles less often; for servers that parse large documents and hold many of them.

    Reading a request of 1 MB beside 20 others in memory took 7.2 ms of CPU time with the default thresholds
    and 5.9 ms with these (median of 60), the slowest 30 ms and 8 ms.
    """
    gc.set_threshold(*GC_THRESHOLDS)


def _connections_by_files() -> int:
    """How many connections the limit of open files allows."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(soft // 2, soft - FILES_RESERVED) if soft != resource.RLIM_INFINITY else sys.maxsize


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


def _config(server_app: Servable, table: ConnectionTable) -> uvicorn.Config:
    return uvicorn.Config(
        server_app.app,
        http=partial(BoundedProtocol, table=table),  # type: ignore[arg-type] # it is called like a class
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        # Clients can write anything into X-Forwarded-For.
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=limits.KEEP_ALIVE_S,
        timeout_graceful_shutdown=limits.GRACEFUL_STOP_S,
    )
