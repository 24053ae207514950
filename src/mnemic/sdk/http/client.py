"""The HTTP backend of `AsyncMemory("https://…")`: it sends every call to a Mnemic server.

Nothing here is written per call. The request of a call follows from its line in `mnemic.sdk.http.surface` and
from its signature. Three calls have a method each: `retain_many` sends a stream, `events.subscribe` receives
one, and `admin.export` receives a file.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from functools import cache
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from pydantic import TypeAdapter

from mnemic.backup.files import check_path, new_file
from mnemic.config import Settings
from mnemic.db.tenancy import Tenant
from mnemic.errors import ClosedError, ConfigurationError, ServerError
from mnemic.events.consumers import check_start
from mnemic.retain.items import as_items
from mnemic.runtime.core import Core
from mnemic.sdk.groups.events import AsyncEvents
from mnemic.sdk.http.connection import ROW_COUNTS_HEADER, HttpConnection, parse_response
from mnemic.sdk.http.event_stream import StreamItem, follow, follow_as_consumer, stream_events
from mnemic.sdk.http.surface import LOCAL_ONLY, ROUTES, WHO_AM_I
from mnemic.sdk.http.wire import Call, Request, json_line
from mnemic.sdk.progress import progress_reporter
from mnemic.sdk.routing import CallGroup
from mnemic.types.event import Event, check_event_types
from mnemic.types.scope import check_name
from mnemic.types.whoami import WhoAmI

CHUNK_BYTES = 64 * 1024
"""`retain_many` collects items until they are this many bytes of JSON, then sends them."""

_WHO_AM_I = TypeAdapter(WhoAmI)
_ROW_COUNTS = TypeAdapter(dict[str, int])

Group = TypeVar("Group", bound=CallGroup)
Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


class HttpBackend:
    """Sends calls to a Mnemic server. States: new → open → closed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._connection: HttpConnection | None = None
        self._tenant: Tenant | None = None
        self._closed = False
        self._opening = asyncio.Lock()

    @property
    def connection(self) -> HttpConnection:
        """The open connection; ClosedError before `open` and after `aclose`."""
        if self._closed:
            raise ClosedError("This Memory is closed. Open a new one.")
        if self._connection is None:
            raise ClosedError("This AsyncMemory is not open yet. Use `async with`, or await its open().")
        return self._connection

    @property
    def core(self) -> Core:
        """Always an error: the database and the models are the server's."""
        _ = self.connection
        raise ConfigurationError("This needs the database itself, and this memory speaks to a server.")

    @property
    def tenant(self) -> Tenant:
        """The tenant of the API key."""
        _ = self.connection
        assert self._tenant is not None, "open() sets the tenant together with the connection"
        return self._tenant

    async def open(self) -> None:
        """Connect, check the API key and learn its tenant. Opening twice does nothing."""
        async with self._opening:
            if self._closed:
                raise ClosedError("This Memory is closed. Open a new one.")
            if self._connection is not None:
                return
            connection = HttpConnection(self._settings)
            try:
                self._tenant = await self._read_tenant(connection)
            except BaseException:
                await connection.aclose()
                raise
            self._connection = connection

    async def aclose(self) -> None:
        """Close the connection for good. Closing twice does nothing."""
        async with self._opening:
            connection, self._connection, self._closed = self._connection, None, True
            if connection is not None:
                await connection.aclose()

    def call(
        self,
        name: str,
        body: Callable[Concatenate[Group, Parameters], Returned],
        group: Group,
        /,
        *arguments: Parameters.args,
        **named: Parameters.kwargs,
    ) -> Returned:
        """Send the call to the server; ConfigurationError if it exists only on a local backend."""
        if name in LOCAL_ONLY:
            raise ConfigurationError(f"memory.{name} is not available over HTTP: {LOCAL_ONLY[name]}.")
        send: Callable[..., Any] = self._send
        if name == "retain_many":
            send = self._send_items
        elif name == "events.subscribe":
            send = self._subscribe
        elif ROUTES[name].returns_file:
            send = self._download
        return cast("Returned", send(_call(name, body), group, *arguments, **named))

    async def _send(self, call: Call, group: CallGroup, /, *arguments: Any, **named: Any) -> Any:
        sent = {name: value for name, value in named.items() if name not in call.route.local}
        request = call.request(group, *arguments, **sent)
        response = await self.connection.send(request, group._scope, is_idempotent=call.route.is_idempotent)
        return None if call.returns_nothing else parse_response(call.response, response)

    async def _send_items(
        self, call: Call, group: CallGroup, /, items: Iterable[Any], *, progress: Any = False, **named: Any
    ) -> Any:
        """`retain_many`: send the items as lines of JSON, so that neither side holds all of them."""
        request = call.request(group, items, **named)
        with progress_reporter(progress) as report:
            lines = _chunks(as_items(items), report)
            response = await self.connection.send_stream(request, group._scope, lines)
            return parse_response(call.response, response)

    async def _download(
        self, call: Call, group: CallGroup, /, path: Any, *, replace: Any = False, **named: Any
    ) -> dict[str, int]:
        """`admin.export`: write the file that the server sends; it gets its name when it is complete."""
        request = call.request(group, path, **named)
        with new_file(check_path(path), replace=replace) as file:
            line_count = 0
            async with self.connection.download(request, group._scope) as (headers, parts):
                counts = parse_response(_ROW_COUNTS, headers.get(ROW_COUNTS_HEADER, ""))
                async for part in parts:
                    file.write(part)
                    line_count += part.count(b"\n")
            # The first line names the format.
            if line_count != 1 + sum(counts.values()):
                raise ServerError("The export is incomplete. Nothing was written; try again.")
        return counts

    def _subscribe(
        self, call: Call, group: AsyncEvents, /, consumer: str | None = None, **named: Any
    ) -> AsyncIterator[Event]:
        """`events.subscribe`: read the event stream; with a consumer, its position is kept on the server."""
        request = call.request(group, **named)
        # The stream opens when the first event is requested; invalid arguments must fail before that.
        check_event_types("types", named.get("types"))
        check_start("start", named.get("start", "now"))

        def open_stream(after: int | None) -> AsyncGenerator[StreamItem, None]:
            return stream_events(lambda: self.connection, group._scope, request, after)

        if consumer is None:
            return follow(open_stream)
        return follow_as_consumer(group, check_name("consumer", consumer), open_stream, **named)

    async def _read_tenant(self, connection: HttpConnection) -> Tenant:
        response = await connection.send(Request("GET", WHO_AM_I), None, is_idempotent=True)
        found = parse_response(_WHO_AM_I, response)
        wanted = self._settings.tenant
        if "tenant" in self._settings.model_fields_set and wanted != found.tenant:
            raise ConfigurationError(
                f"The API key belongs to the tenant {found.tenant!r}, not to {wanted!r}: leave out the "
                "tenant, the key decides it."
            )
        return Tenant(found.tenant_id, found.tenant)


@cache
def _call(name: str, body: Callable[..., Any]) -> Call:
    return Call(ROUTES[name], body)


async def _chunks(items: Iterable[Any], report: Callable[[int], None]) -> AsyncIterator[bytes]:
    pending = bytearray()
    for count, item in enumerate(items, start=1):
        pending += json_line(item)
        if len(pending) >= CHUNK_BYTES:
            yield bytes(pending)
            pending.clear()
            report(count)
    yield bytes(pending)
