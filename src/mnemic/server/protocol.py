"""HTTP/1.1 as uvicorn speaks it, with bounds that it lacks: on the time before and after a request.

A client has `HEADERS_TIMEOUT_S` from connecting, or from the first byte of its next request, to the end of
its headers; then it gets 408. A client that has its answer and goes on sending the body is cut off after
`LINGER_S`; closing at once could take the answer away from it.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from mnemic.server.limits import HEADERS_TIMEOUT_S, LINGER_S

TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class BoundedProtocol(H11Protocol):
    """One connection. It never writes uvicorn's own access log, which has paths and queries as they came."""

    _reading: asyncio.TimerHandle | None = None
    _lingering: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.access_log = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for headers."""
        super().connection_made(transport)
        self._reading = self.loop.call_later(HEADERS_TIMEOUT_S, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Take what came; begin to wait if it is the beginning of headers, stop if it was their end."""
        if self._reading is None and self.conn.their_state is h11.IDLE:
            self._reading = self.loop.call_later(HEADERS_TIMEOUT_S, self._give_up)
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timers()

    def on_response_complete(self) -> None:
        """Wait a little for a client that still sends what nobody reads."""
        still_sends = self.conn.their_state is h11.SEND_BODY
        super().on_response_complete()
        if still_sends and not self.transport.is_closing():
            self._lingering = self.loop.call_later(LINGER_S, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop_timers()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        self._reading = None
        if not self.transport.is_closing():
            self.transport.write(TOO_SLOW)
            self.transport.close()

    def _stop_timers(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        if self._lingering is not None and self.conn.their_state is not h11.SEND_BODY:
            self._lingering.cancel()
            self._lingering = None
