"""Following the events of a Mnemic server: read its stream, reconnect after the last event when it breaks.

With a consumer name this does the same as the local backend (`mnemic.events.following`): take the consumer,
start the stream after its position, and store the position when the next event is requested. The position is
stored in the database, so it outlives this program, the connection and the server. If the response to storing
a position is lost, the request is repeated; repeating it does nothing. The stream may deliver events before
their position is stored. A reader that has lost the consumer gets a ConflictError from the next request that
stores a position, and yields no further event.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from time import monotonic
from typing import Any

from pydantic import TypeAdapter

from mnemic.errors import (
    DatabaseUnavailableError,
    MnemicError,
    QueryTimeoutError,
    ServerError,
    ServerUnavailableError,
    TooManyRequestsError,
)
from mnemic.events.following import retry_while_unavailable
from mnemic.sdk.groups.events import AsyncEvents
from mnemic.sdk.http.connection import HttpConnection, parse_response
from mnemic.sdk.http.wire import Request
from mnemic.types.event import Event, EventReading
from mnemic.types.scope import Scope

RECONNECT_DELAY_S = 0.5
"""The delay between the end of a stream and the next attempt to open it."""

RECHECK_AFTER_S = 1.0
"""After this time without a request, `confirm` asks the server whether the reader still has the consumer."""

TRANSIENT_ERRORS: tuple[type[MnemicError], ...] = (
    ServerUnavailableError,
    DatabaseUnavailableError,
    QueryTimeoutError,
    TooManyRequestsError,
)
"""Errors that do not end a stream that has started: the server restarts, or is overloaded."""

EVENT_ID = "id: "
EVENT_DATA = "data: "

StreamItem = Event | int
"""An event, or a position up to which no further event matches."""
OpenStream = Callable[[int | None], AsyncGenerator[StreamItem, None]]
"""Opens the stream after a position; None starts where the request says."""

_EVENT = TypeAdapter(Event)

logger = logging.getLogger("mnemic.http")


async def follow(open_stream: OpenStream) -> AsyncIterator[Event]:
    """Yield events without storing a position."""
    async with aclosing(open_stream(None)) as items:
        async for item in items:
            if isinstance(item, Event):
                yield item


async def follow_as_consumer(
    events: AsyncEvents, consumer: str, open_stream: OpenStream, **named: Any
) -> AsyncIterator[Event]:
    """Yield events under a consumer's name; `events` is the group that sends its calls to the server."""
    position = ConsumerPosition(events, await events.take_consumer(consumer, **named))
    async with aclosing(open_stream(position.position)) as items:
        async for item in items:
            if isinstance(item, Event):
                await position.confirm()
                yield item
            await position.move(item.position if isinstance(item, Event) else item)


class ConsumerPosition:
    """The position of a consumer, stored on the server for this reader."""

    def __init__(self, events: AsyncEvents, reading: EventReading) -> None:
        self.position = reading.position
        self._events = events
        self._reading = reading
        self._confirmed_at_s = monotonic()

    async def move(self, position: int) -> None:
        """Store that everything up to `position` is processed; ConflictError if another reader took over."""
        await retry_while_unavailable(lambda: self._send(position), TRANSIENT_ERRORS)
        self.position = position
        self._confirmed_at_s = monotonic()

    async def confirm(self) -> None:
        """Check that this reader still has the consumer, unless that is known from a recent request."""
        if monotonic() - self._confirmed_at_s > RECHECK_AFTER_S:
            await self.move(self.position)

    async def _send(self, position: int) -> None:
        reading = self._reading
        await self._events.move_consumer(
            reading.consumer,
            reader=reading.reader,
            expected=self.position,
            position=position,
            owner=reading.owner,
        )


async def stream_events(
    open_connection: Callable[[], HttpConnection], scope: Scope, request: Request, after: int | None
) -> AsyncGenerator[StreamItem, None]:
    """Yield events and positions without end; a stream that has started reconnects on transient errors."""
    has_begun = after is not None
    while True:
        delay_s = RECONNECT_DELAY_S
        headers = {"Last-Event-ID": str(after)} if after is not None else {}
        try:
            async with open_connection().stream(request, scope, headers) as lines:
                has_begun = True
                async with aclosing(_items(lines)) as items:
                    async for item in items:
                        yield item
                        after = item.position if isinstance(item, Event) else item
        except TRANSIENT_ERRORS as error:
            if not has_begun:
                raise
            delay_s = error.retry_after_s if isinstance(error, TooManyRequestsError) else RECONNECT_DELAY_S
            logger.warning("event stream interrupted, reconnecting in %.1f s: %s", delay_s, error)
        await asyncio.sleep(delay_s)


async def _items(lines: AsyncIterator[str]) -> AsyncGenerator[StreamItem, None]:
    """The events and positions in a stream. An empty line ends a part; an event has one data line."""
    position: int | None = None
    async for line in lines:
        if line.startswith(EVENT_ID):
            position = _position(line.removeprefix(EVENT_ID))
        elif line.startswith(EVENT_DATA):
            position = None
            yield parse_response(_EVENT, line.removeprefix(EVENT_DATA))
        elif not line and position is not None:
            yield position
            position = None


def _position(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise ServerError("The event stream is malformed: is there a Mnemic server at this URL?")
    return int(text)
