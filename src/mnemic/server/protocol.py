"""HTTP/1.1 by uvicorn and httptools, with limits that uvicorn lacks, and coalesced writes.

From connecting, or from the first byte of its next request, a client has `HEADERS_TIMEOUT_S` to send its
headers, of at most `HEADERS_MAX_BYTES`; otherwise it gets 408 or 431. A client that has its response but
continues to send the body is disconnected after `LINGER_S`; closing at once could discard the response. A
client that leaves a response unread for `RESPONSE_PAUSE_S`, or sends more than `PIPELINED_MAX` requests
ahead, is disconnected, too. `connections.py` bounds the number of connections.

uvicorn writes headers and body separately. Each write is a packet that wakes the client, which takes as long
as the rest of a short response. The transport therefore sends all writes of one event loop iteration at once.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from mnemic.server.connections import ConnectionTable
from mnemic.server.limits import (
    HEADERS_MAX_BYTES,
    HEADERS_TIMEOUT_S,
    LINGER_S,
    PIPELINED_MAX,
    RESPONSE_PAUSE_S,
)

_AND_CLOSE = b"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
TOO_SLOW = b"HTTP/1.1 408 Request Timeout" + _AND_CLOSE
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large" + _AND_CLOSE
TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5" + _AND_CLOSE
PARSED_BYTES = 16 * 1024
"""Data is parsed in slices of this size; requests sent ahead are counted after each. A body is not sliced."""


class CoalescingTransport:
    """A transport that joins writes until `flush` or until the next iteration of the event loop."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Buffer data and schedule a flush."""
        if not data:
            return
        if not self._pieces:
            self._loop.call_soon(self.flush)
        self._pieces.append(data)

    def close(self) -> None:
        """Send the buffer, then close; a client that does not read it is disconnected."""
        self.flush()
        if not self._transport.is_closing() and self._transport.get_write_buffer_size():
            self._loop.call_later(RESPONSE_PAUSE_S, self._transport.abort)
        self._transport.close()

    def flush(self) -> None:
        """Send the buffer."""
        if self._pieces:
            self._transport.write(b"".join(self._pieces))
            self._pieces.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class BoundedProtocol(HttpToolsProtocol):
    """One connection. It never writes uvicorn's access log, which has paths and queries as they were sent.

    Between requests a connection is *idle*; from the first byte of a request it reads *headers*, then the
    *body*, and is idle again, whether or not the response has been sent.
    """

    _headers_timer: asyncio.TimerHandle | None = None
    _linger_timer: asyncio.TimerHandle | None = None
    _unread_timer: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _is_in_body = False
    _body_bytes_left = 0
    """Of a body whose length was declared: no other request is in these bytes."""

    def __init__(self, *arguments: Any, table: ConnectionTable, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.access_log = False
        self._table = table

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for headers, or refuse the connection if there are too many."""
        super().connection_made(CoalescingTransport(transport, self.loop))  # type: ignore[arg-type]
        if self._table.add(self, self.client[0] if self.client is not None else ""):
            self._wait_for_headers()
        else:
            self._give_up(TOO_MANY)

    def data_received(self, data: bytes) -> None:
        """Process data in slices, unless the connection is closing."""
        start = 0
        while start < len(data):
            if self.transport.is_closing():
                return
            end = start + max(PARSED_BYTES, self._body_bytes_left)
            self._parse(data[start:end])
            start = end
            if len(self.pipeline) > PIPELINED_MAX:
                self._give_up(TOO_MANY)

    def _parse(self, data: bytes) -> None:
        """Parse a slice; start the timer at the first byte of headers, give up if they are too large."""
        if not self._is_in_body:
            if self._headers_timer is None and not self._is_answering():
                self._wait_for_headers()
            self._header_bytes += len(data)
        super().data_received(data)
        if not self._is_in_body and self._header_bytes > HEADERS_MAX_BYTES:
            self._give_up(TOO_LARGE)

    def on_headers_complete(self) -> None:
        """Stop the timer; the body follows."""
        self._is_in_body = True
        declared = next((value for name, value in self.headers if name == b"content-length"), b"0")
        self._body_bytes_left = int(declared)
        self._header_bytes = 0
        self._table.mark_busy(self)
        self._stop_timers()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count what is left."""
        self._body_bytes_left -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The body is complete; another request may follow."""
        self._is_in_body = False
        self._body_bytes_left = 0
        self._stop_timers()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Send the response; disconnect a client that still sends its body after `LINGER_S`."""
        self.transport.flush()  # type: ignore[attr-defined]
        super().on_response_complete()
        if not self._is_answering():
            self._table.mark_idle(self)
        if self._is_in_body and not self.transport.is_closing():
            self._linger_timer = self.loop.call_later(LINGER_S, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        self._table.remove(self)
        self._stop_timers()
        self._stop_unread_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client reads slower than the response is written: start a timer."""
        super().pause_writing()
        if self._unread_timer is None:
            self._unread_timer = self.loop.call_later(RESPONSE_PAUSE_S, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read."""
        self._stop_unread_timer()
        super().resume_writing()

    def close_idle(self) -> None:
        """Close the connection, which is idle, because another one needs its place."""
        self._give_up(b"")

    def _wait_for_headers(self) -> None:
        self._headers_timer = self.loop.call_later(HEADERS_TIMEOUT_S, self._give_up, TOO_SLOW)

    def _give_up(self, answer: bytes) -> None:
        """Close; send the error unless the response to an earlier request is still being sent."""
        self._stop_timers()
        if not self.transport.is_closing():
            if not self._is_answering():
                self.transport.write(answer)
            self.transport.close()

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _stop_unread_timer(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
        self._unread_timer = None

    def _stop_timers(self) -> None:
        for timer in (self._headers_timer, self._linger_timer):
            if timer is not None:
                timer.cancel()
        self._headers_timer = self._linger_timer = None
