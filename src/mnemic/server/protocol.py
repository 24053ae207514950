"""HTTP/1.1 as uvicorn speaks it, with bounds that it lacks, and answers that go out in one piece.

A client has `HEADERS_TIMEOUT_S` from connecting, or from the first byte of its next request, to the end of
its headers; then it gets 408. A client that has its answer and goes on sending the body is cut off after
`LINGER_S`; closing at once could take the answer away from it.

uvicorn writes headers and body one after the other. Each write is a packet that wakes the client up, which
takes as long as all the rest of a short answer; so what is written in one go leaves in one packet.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from mnemic.server.limits import HEADERS_TIMEOUT_S, LINGER_S

TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class GatheringTransport:
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


class BoundedProtocol(H11Protocol):
    """One connection. It never writes uvicorn's own access log, which has paths and queries as they came."""

    _reading: asyncio.TimerHandle | None = None
    _lingering: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.access_log = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for headers."""
        super().connection_made(GatheringTransport(transport, self.loop))  # type: ignore[arg-type]
        self._reading = self.loop.call_later(HEADERS_TIMEOUT_S, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Take what came; begin to wait if it is the beginning of headers, stop if it was their end."""
        if self._reading is None and self.conn.their_state is h11.IDLE:
            self._reading = self.loop.call_later(HEADERS_TIMEOUT_S, self._give_up)
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timers()

    def on_response_complete(self) -> None:
        """Let the answer go; wait a little for a client that still sends what nobody reads."""
        self.transport.flush()  # type: ignore[attr-defined]
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
