"""HTTP/1.1 as uvicorn speaks it with httptools, with bounds that it lacks, and answers in one piece.

A client has `HEADERS_TIMEOUT_S` from connecting, or from the first byte of its next request, to the end of
its headers, and they may have `HEADERS_MAX_BYTES`; else it gets 408 or 431. A client that has its answer and
goes on sending the body is cut off after `LINGER_S`; closing at once could take the answer away from it.

uvicorn writes headers and body one after the other. Each write is a packet that wakes the client up, which
takes as long as all the rest of a short answer; so what is written in one go leaves in one packet.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from mnemic.server.limits import HEADERS_MAX_BYTES, HEADERS_TIMEOUT_S, LINGER_S

_AND_CLOSE = b"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
TOO_SLOW = b"HTTP/1.1 408 Request Timeout" + _AND_CLOSE
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large" + _AND_CLOSE


class CoalescingTransport:
    """A transport that sends as one piece what is written until `flush`, or until the event loop goes on."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send soon."""
        if not data:
            return
        if not self._pieces:
            self._loop.call_soon(self.flush)
        self._pieces.append(data)

    def close(self) -> None:
        """Close when everything was sent."""
        self.flush()
        self._transport.close()

    def flush(self) -> None:
        """Send now."""
        if self._pieces:
            self._transport.write(b"".join(self._pieces))
            self._pieces.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class BoundedProtocol(HttpToolsProtocol):
    """One connection. It never writes uvicorn's own access log, which has paths and queries as they came.

    Between requests it is *idle*; from the first byte of one it reads *headers*, then the *body*, and is idle
    again, whether the answer is on its way or not.
    """

    _headers_timer: asyncio.TimerHandle | None = None
    _linger_timer: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _is_in_body = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.access_log = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for headers."""
        super().connection_made(CoalescingTransport(transport, self.loop))  # type: ignore[arg-type]
        self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        """Take what came; begin to wait if it is the beginning of headers, give up if they never end."""
        if not self._is_in_body:
            if self._headers_timer is None and not self._is_answering():
                self._wait_for_headers()
            self._header_bytes += len(data)
        super().data_received(data)
        if not self._is_in_body and self._header_bytes > HEADERS_MAX_BYTES:
            self._give_up(TOO_LARGE)

    def on_headers_complete(self) -> None:
        """Stop waiting: what comes now is the body."""
        self._is_in_body = True
        self._header_bytes = 0
        self._stop_timers()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """What comes now is another request."""
        self._is_in_body = False
        self._stop_timers()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Let the answer go; wait a little for a client that still sends what nobody reads."""
        self.transport.flush()  # type: ignore[attr-defined]
        super().on_response_complete()
        if self._is_in_body and not self.transport.is_closing():
            self._linger_timer = self.loop.call_later(LINGER_S, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop_timers()
        super().connection_lost(exc)

    def _wait_for_headers(self) -> None:
        self._headers_timer = self.loop.call_later(HEADERS_TIMEOUT_S, self._give_up, TOO_SLOW)

    def _give_up(self, answer: bytes) -> None:
        """Close, with an answer unless that would get into the one to an earlier request."""
        self._stop_timers()
        if not self.transport.is_closing():
            if not self._is_answering():
                self.transport.write(answer)
            self.transport.close()

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _stop_timers(self) -> None:
        for timer in (self._headers_timer, self._linger_timer):
            if timer is not None:
                timer.cancel()
        self._headers_timer = self._linger_timer = None
