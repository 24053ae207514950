"""Following the events of a server: its stream, begun again behind the last event when it breaks.

Under a consumer's name the same happens as at the database (`mnemic.events.following`): the consumer is taken
first, the stream begins behind its place, and the place is moved when the next event is asked for. That place
is in the database, so it outlives this program, the connection and the server. What is not certain to have
been moved is moved again, which changes nothing if it was. Events that came ahead of the place, over the
stream, are nobody's: whoever has lost the consumer learns that from the first move, and hands out no more.
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
from mnemic.sdk.http.connection import Link, read_answer
from mnemic.sdk.http.wire import Request
from mnemic.types.event import Event, EventReading
from mnemic.types.scope import Scope

STREAM_PAUSE_S = 0.5
"""Between the end of a stream and the next attempt."""

HELD_S = 1.0
"""For so long after a move the place is one's own; later it is looked at before an event is handed out."""

PASSING: tuple[type[MnemicError], ...] = (
    ServerUnavailableError,
    DatabaseUnavailableError,
    QueryTimeoutError,
    TooManyRequestsError,
)
"""What does not end a stream that has begun: the server is being restarted, or has too much to do."""

EVENT_ID = "id: "
EVENT_DATA = "data: "

Step = Event | int
"""An event, or the position up to which there is none that is wanted."""
OpenStream = Callable[[int | None], AsyncGenerator[Step, None]]
"""Gives what follows a position, without end; None begins where the request says."""

_EVENT = TypeAdapter(Event)

logger = logging.getLogger("mnemic.remote")


async def follow(open_stream: OpenStream) -> AsyncIterator[Event]:
    """Events without a name: where one is lives as long as the iteration."""
    async with aclosing(open_stream(None)) as steps:
        async for step in steps:
            if isinstance(step, Event):
                yield step


async def follow_as(
    events: AsyncEvents, consumer: str, open_stream: OpenStream, **named: Any
) -> AsyncIterator[Event]:
    """Events under a consumer's name; `events` makes its calls by the server."""
    place = KeptPlace(events, await events.take_consumer(consumer, **named))
    async with aclosing(open_stream(place.position)) as steps:
        async for step in steps:
            if isinstance(step, Event):
                await place.hold()
                yield step
            await place.move(step.position if isinstance(step, Event) else step)


class KeptPlace:
    """How far a consumer is, as the server keeps it for this reader."""

    def __init__(self, events: AsyncEvents, reading: EventReading) -> None:
        self.position = reading.position
        self._events = events
        self._reading = reading
        self._held_at_s = monotonic()

    async def move(self, position: int) -> None:
        """Done with everything up to here; ConflictError if another reader has taken over."""
        await retry_while_unavailable(lambda: self._send(position), PASSING)
        self.position = position
        self._held_at_s = monotonic()

    async def hold(self) -> None:
        """The same about what it is done with already, if nobody has asked for some time."""
        if monotonic() - self._held_at_s > HELD_S:
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


async def stream(
    open_link: Callable[[], Link], scope: Scope, request: Request, after: int | None
) -> AsyncGenerator[Step, None]:
    """What a server tells, without end. Once a position is known, it is patient with the server."""
    has_begun = after is not None
    while True:
        pause_s = STREAM_PAUSE_S
        headers = {"Last-Event-ID": str(after)} if after is not None else {}
        try:
            async with open_link().stream(request, scope, headers) as lines:
                has_begun = True
                async with aclosing(_steps(lines)) as steps:
                    async for step in steps:
                        yield step
                        after = step.position if isinstance(step, Event) else step
        except PASSING as error:
            if not has_begun:
                raise
            pause_s = error.retry_after_s if isinstance(error, TooManyRequestsError) else STREAM_PAUSE_S
            logger.warning("following events pauses for %.1f s: %s", pause_s, error)
        await asyncio.sleep(pause_s)


async def _steps(lines: AsyncIterator[str]) -> AsyncGenerator[Step, None]:
    """What the lines of a stream say. Each part ends with an empty line, and an event has its data in one."""
    passed: int | None = None
    async for line in lines:
        if line.startswith(EVENT_ID):
            passed = _position(line.removeprefix(EVENT_ID))
        elif line.startswith(EVENT_DATA):
            passed = None
            yield read_answer(_EVENT, line.removeprefix(EVENT_DATA))
        elif not line and passed is not None:
            yield passed
            passed = None


def _position(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise ServerError("The stream of events cannot be understood: is there a Mnemic server at this URL?")
    return int(text)
