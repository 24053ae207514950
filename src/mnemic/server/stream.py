"""Server-Sent Events: what happens, as it happens, to whoever keeps the connection open.

Each event has its position as `id`; who comes back with `Last-Event-ID` goes on behind it and has missed
nothing. When nothing happens, a comment every `heartbeat_s` says that the stream lives; if something happened
that is not wanted here, an `id` on its own goes along, so that no place in the log stays behind for good.
Whoever follows under a consumer's name takes it before, and moves it after each event, by requests of their
own: the stream is the same, and moves nothing.

Nothing is queued for a client: the log in the database is the queue, and the next event is read when the
client has taken the last. A client that takes nothing for `SEND_TIMEOUT_S` is cut off, and one whose key has
ended within `RECHECK_S`.

States of a stream: *open* → (client gone, key ended, server stops, client too slow) → *closed*.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from functools import partial
from time import monotonic
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import TypeAdapter
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mnemic.db.database import TenantDatabase
from mnemic.db.task_cancellation import cancel_and_wait
from mnemic.errors import InvalidInputError, MnemicError, TooManyRequestsError
from mnemic.events.consumers import Start, start_position
from mnemic.sdk.groups.events import subscribe_with_progress
from mnemic.sdk.http.surface import ROUTES
from mnemic.server.admission import Admission, Admitted
from mnemic.server.limits import ServerLimits
from mnemic.server.routes import scoped_memory
from mnemic.types.event import Event, EventType

ROUTE = ROUTES["events.subscribe"]
MEDIA_TYPE = "text/event-stream"
HEARTBEAT = b": nothing happens\n\n"
SEND_TIMEOUT_S = 30.0
RECHECK_S = 1.0
RETRY_AFTER_S = 30.0
POSITION_MAX_DIGITS = 19

_event = TypeAdapter(Event)

logger = logging.getLogger("mnemic.server")

Recheck = Callable[[], Awaitable[None]]
"""Raises when the key that opened a stream no longer holds."""


class Streams:
    """The streams that are open; `stop` ends them all."""

    def __init__(self, limits: ServerLimits) -> None:
        self.limits = limits
        self.stopping = asyncio.Event()
        self._open_count = 0

    def stop(self) -> None:
        """End all streams, and open no more."""
        self.stopping.set()

    def __enter__(self) -> None:
        """Count one more; TooManyRequestsError if there are too many."""
        if self._open_count >= self.limits.streams_max:
            raise TooManyRequestsError(
                f"{self.limits.streams_max} streams of events are open. Come back later.",
                retry_after_s=RETRY_AFTER_S,
            )
        self._open_count += 1

    def __exit__(self, *_: object) -> None:
        """Count one less."""
        self._open_count -= 1


def stream_routes(admission: Admission, streams: Streams) -> APIRouter:
    """The one call of the SDK whose answer has no end."""
    router = APIRouter(tags=["events"])

    @router.get(
        ROUTE.path,
        summary="Follow events as they happen",
        responses={200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}, "description": "Events"}},
        response_class=Response,
    )
    async def stream(
        request: Request,
        admitted: Annotated[Admitted, Depends(admission.admit("read"))],
        types: Annotated[list[EventType] | None, Query(description="Only these types of events.")] = None,
        owner: Annotated[str | None, Query(description="Only events of this owner.")] = None,
        start: Annotated[str, Query(description="`now`, `beginning` or a position.")] = "now",
        last_event_id: Annotated[str | None, Header(description="Go on behind this event.")] = None,
    ) -> Response:
        """Server-Sent Events without end; `id` is the position to come back with as `Last-Event-ID`.

        A key with an owner sees the events of that owner, another one all of its tenant.
        """
        events = scoped_memory(admitted, request.headers, ROUTE, {"owner": owner}).events
        place = _place(start if last_event_id is None else last_event_id)
        if isinstance(place, int):
            # So that who comes too late for it is told now, by a status.
            await events.list(after=place, limit=1, types=types, owner=owner)
        begin = await _position(await admission.database_of(request.scope), place)
        reached = Reached(begin)
        following = subscribe_with_progress(events, types, owner, begin, reached.move)
        return EventStream(following, reached, streams, partial(admission.check_again, request.scope))

    return router


class Reached:
    """Up to which position a stream has looked at all events, and its client knows it."""

    def __init__(self, position: int) -> None:
        self._known = position
        self._passed = position

    def move(self, position: int) -> None:
        """Everything wanted up to here was handed out."""
        self._passed = position

    def tell(self, position: int) -> None:
        """The client gets an event."""
        self._known = position

    def heartbeat(self) -> bytes:
        """What to send when there is nothing to tell, with the position if the client does not know it."""
        if self._passed <= self._known:
            return HEARTBEAT
        self._known = self._passed
        return b"id: %d\n%s" % (self._passed, HEARTBEAT)


class EventStream(Response):
    """The answer that goes on and on."""

    media_type = MEDIA_TYPE

    def __init__(
        self, events: AsyncIterator[Event], reached: Reached, streams: Streams, recheck: Recheck
    ) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._reached = reached
        self._streams = streams
        self._recheck = recheck

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until somebody has had enough."""
        with self._streams:
            reasons = [self._sent(send), _gone(receive), self._streams.stopping.wait()]
            tasks = [asyncio.ensure_future(reason) for reason in reasons]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await cancel_and_wait(*tasks)
        with suppress(OSError):
            await send({"type": "http.response.body", "body": b""})

    async def _sent(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            async with aclosing(self._parts()) as parts:
                async for part in parts:
                    async with asyncio.timeout(SEND_TIMEOUT_S):
                        await send({"type": "http.response.body", "body": part, "more_body": True})
        except (MnemicError, TimeoutError) as error:
            told = "its client takes nothing" if isinstance(error, TimeoutError) else str(error)
            logger.info("a stream of events ends: %s", told)

    async def _parts(self) -> AsyncGenerator[bytes, None]:
        """Events and heartbeats, as long as the key holds."""
        yield HEARTBEAT
        checked_s = monotonic()
        async with aclosing(_with_pauses(self._events, self._streams.limits.heartbeat_s)) as events:
            async for event in events:
                if event is None or monotonic() - checked_s > RECHECK_S:
                    await self._recheck()
                    checked_s = monotonic()
                yield self._reached.heartbeat() if event is None else self._told(event)

    def _told(self, event: Event) -> bytes:
        self._reached.tell(event.position)
        return _written(event)


async def _with_pauses(events: AsyncIterator[Event], pause_s: float) -> AsyncGenerator[Event | None, None]:
    """The events, and None whenever there was none for a while."""
    upcoming = asyncio.ensure_future(anext(events))
    try:
        while True:
            done, _ = await asyncio.wait({upcoming}, timeout=pause_s)
            if not done:
                yield None
                continue
            yield upcoming.result()
            upcoming = asyncio.ensure_future(anext(events))
    finally:
        await cancel_and_wait(upcoming)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _written(event: Event) -> bytes:
    data = _event.dump_json(event)
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.position, event.type.encode(), data)


def _place(text: str) -> Start:
    """Where to begin."""
    if text == "now":
        return "now"
    if text == "beginning":
        return "beginning"
    if text.isascii() and text.isdecimal() and len(text) <= POSITION_MAX_DIGITS:
        return int(text)
    raise InvalidInputError("start and Last-Event-ID must be the position of an event.")


async def _position(database: TenantDatabase, place: Start) -> int:
    """The position behind which to begin, settled before the answer begins: nothing falls in between."""
    async with database.transaction() as transaction:
        return await start_position(transaction, place)
