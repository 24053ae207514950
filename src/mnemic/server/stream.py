"""Events as a stream of Server-Sent Events.

Each event has its position as `id`; a client that reconnects with `Last-Event-ID` continues after it and
misses nothing. Without events, the stream sends a heartbeat comment every `heartbeat_s`. If the filter
excluded events meanwhile, the heartbeat carries their position as an `id`, so that the client's position
keeps up with the log. A client that reads under a consumer name takes the name before, and moves its position
after each event, by separate requests; the stream itself moves nothing.

There is no queue per client: the event log in the database is the queue, and the next event is read when the
client has taken the last one. The server closes a stream whose client takes nothing for `SEND_TIMEOUT_S`, and
one whose key or session has ended (`credential_watch.py`), whether or not there are events.

States of a stream: *open* → (client disconnected, key ended, server stops, client too slow) → *closed*.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import TypeAdapter
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mnemic.db.database import TenantDatabase
from mnemic.db.task_cancellation import cancel_and_wait
from mnemic.errors import InvalidInputError, MnemicError
from mnemic.events.consumers import Start, start_position
from mnemic.govern.keys import AuthenticatedKey
from mnemic.sdk.groups.events import subscribe_with_progress
from mnemic.sdk.http.surface import ROUTES
from mnemic.sdk.memory import AsyncMemory
from mnemic.server.authentication import AuthenticatedCaller, Authenticator
from mnemic.server.credential_watch import CredentialWatches, Recheck
from mnemic.server.limits import ServerLimits
from mnemic.server.quota import Quota
from mnemic.server.routes import scoped_memory
from mnemic.types.event import Event, EventType

ROUTE = ROUTES["events.subscribe"]
MEDIA_TYPE = "text/event-stream"
HEARTBEAT = b": heartbeat\n\n"
SEND_TIMEOUT_S = 30.0
RETRY_AFTER_S = 30.0
POSITION_MAX_DIGITS = 19

_event = TypeAdapter(Event)

logger = logging.getLogger("mnemic.server")

Encode = Callable[[Event], bytes]
"""Writes an event as a part of a stream."""


class OpenStreams:
    """The open streams, bounded by a quota; `stop` ends them all."""

    def __init__(self, limits: ServerLimits) -> None:
        self.heartbeat_s = limits.heartbeat_s
        self.quota = Quota("open streams of events", limits.streams, retry_after_s=RETRY_AFTER_S)
        self.credentials = CredentialWatches()
        self.stopping = asyncio.Event()

    def stop(self) -> None:
        """End all streams."""
        self.stopping.set()


def stream_routes(authenticator: Authenticator, streams: OpenStreams) -> APIRouter:
    """The route of `events.subscribe`, the only call whose response does not end."""
    router = APIRouter(tags=["events"])

    @router.get(
        ROUTE.path,
        summary="Follow events as they happen",
        responses={200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}, "description": "Events"}},
        response_class=Response,
    )
    async def stream(
        request: Request,
        caller: Annotated[AuthenticatedCaller, Depends(authenticator.require(ROUTE))],
        types: Annotated[list[EventType] | None, Query(description="Only these types of events.")] = None,
        owner: Annotated[str | None, Query(description="Only events of this owner.")] = None,
        start: Annotated[str, Query(description="`now`, `beginning` or a position.")] = "now",
        last_event_id: Annotated[str | None, Header(description="Continue after this event.")] = None,
    ) -> Response:
        """Server-Sent Events; to continue after a disconnect, send the last `id` as `Last-Event-ID`.

        A key that is bound to an owner sees the events of that owner, any other key those of its tenant.
        """
        found = await authenticator.key_of(request.scope)
        memory = scoped_memory(caller, request.headers, ROUTE, {"owner": owner})
        wanted = StreamRequest(types, owner, start if last_event_id is None else last_event_id)
        return await open_stream(
            memory, found, wanted, streams, partial(authenticator.recheck, request.scope)
        )

    return router


@dataclass(frozen=True)
class StreamRequest:
    """Which events a client wants. `start` is `now`, `beginning` or the position of the last one it has."""

    types: Sequence[EventType] | None
    owner: str | None
    start: str


async def open_stream(
    memory: AsyncMemory,
    found: AuthenticatedKey,
    wanted: StreamRequest,
    streams: OpenStreams,
    recheck: Recheck,
    *,
    encode: Encode | None = None,
) -> "EventStream":
    """Open a stream for a caller who is authorised; `recheck` raises when the caller is no longer valid.

    `encode` writes an event as a part of the stream; without it, events are JSON.
    """
    # Refuse before the log is read: a client that keeps asking for one stream more must cost little.
    streams.quota.check(found)
    types, owner, events = wanted.types, wanted.owner, memory.events
    parsed = _parse_start(wanted.start)
    if isinstance(parsed, int):
        # Raises if the log no longer has this position, while a status can still be sent.
        await events.list(after=parsed, limit=1, types=types, owner=owner)
    begin = await _position(memory._core.storage.tenant_database, parsed)
    position = StreamPosition(begin)
    following = subscribe_with_progress(events, types, owner, begin, position.advance)
    return EventStream(following, position, streams, found, recheck, encode or _encoded)


class StreamPosition:
    """The position that a stream has read up to, and the last one that it has sent to its client."""

    def __init__(self, position: int) -> None:
        self._sent = position
        self._read = position

    def advance(self, position: int) -> None:
        """Record that all matching events up to this position were read."""
        self._read = position

    def sent(self, position: int) -> None:
        """Record that the client got this position."""
        self._sent = position

    def heartbeat(self) -> bytes:
        """A heartbeat, with the position if the client does not have it yet."""
        if self._read <= self._sent:
            return HEARTBEAT
        self._sent = self._read
        return b"id: %d\n%s" % (self._read, HEARTBEAT)


class EventStream(Response):
    """The response: events and heartbeats until the stream is closed."""

    media_type = MEDIA_TYPE

    def __init__(
        self,
        events: AsyncIterator[Event],
        position: StreamPosition,
        streams: OpenStreams,
        found: AuthenticatedKey,
        recheck: Recheck,
        encode: Encode,
    ) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._position = position
        self._streams = streams
        self._found = found
        self._recheck = recheck
        self._encode_event = encode

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client disconnects, its key or the server ends, or sending fails."""
        streams = self._streams
        with streams.quota.held(self._found):
            async with streams.credentials.watching(self._found, self._recheck) as credential_ended:
                ends = (_disconnected(receive), streams.stopping.wait(), credential_ended.wait())
                tasks = [asyncio.ensure_future(each) for each in (self._send_events(send), *ends)]
                try:
                    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                    _log_failures(done)
                finally:
                    await cancel_and_wait(*tasks)
        with suppress(OSError):
            await send({"type": "http.response.body", "body": b""})

    async def _send_events(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            async with aclosing(self._parts()) as parts:
                async for part in parts:
                    async with asyncio.timeout(SEND_TIMEOUT_S):
                        await send({"type": "http.response.body", "body": part, "more_body": True})
        except (MnemicError, TimeoutError) as error:
            reason = "the client reads nothing" if isinstance(error, TimeoutError) else str(error)
            logger.info("event stream closed: %s", reason)

    async def _parts(self) -> AsyncGenerator[bytes, None]:
        """Events, and heartbeats when there are none."""
        yield HEARTBEAT
        async with aclosing(_with_pauses(self._events, self._streams.heartbeat_s)) as events:
            async for event in events:
                yield self._position.heartbeat() if event is None else self._encode(event)

    def _encode(self, event: Event) -> bytes:
        self._position.sent(event.position)
        return self._encode_event(event)


def _log_failures(done: Iterable[asyncio.Future[Any]]) -> None:
    """Log what ended a stream unexpectedly; clients that disconnect are expected, and see nothing of it."""
    for task in done:
        error = task.exception()
        if error is not None and not isinstance(error, OSError):
            logger.error("event stream failed", exc_info=error)


async def _with_pauses(events: AsyncIterator[Event], pause_s: float) -> AsyncGenerator[Event | None, None]:
    """The events, and None after each pause without one."""
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


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _encoded(event: Event) -> bytes:
    data = _event.dump_json(event)
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.position, event.type.encode(), data)


def _parse_start(text: str) -> Start:
    """The start of a stream: a word or a position."""
    if text == "now":
        return "now"
    if text == "beginning":
        return "beginning"
    if text.isascii() and text.isdecimal() and len(text) <= POSITION_MAX_DIGITS:
        return int(text)
    raise InvalidInputError(
        "start must be `now`, `beginning` or the position of an event; Last-Event-ID must be a position."
    )


async def _position(database: TenantDatabase, start: Start) -> int:
    """The position to start after, read before the response begins so that no event is missed."""
    async with database.transaction() as transaction:
        return await start_position(transaction, start)
