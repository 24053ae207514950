"""Live parts of pages: events as they happen, as HTML in Server-Sent Events.

The stream ends with the session of the visitor, within a second (`mnemic.server.credential_watch`).
"""

from collections.abc import Callable, Sequence
from functools import partial

from starlette.responses import Response

from mnemic.dashboard.visit import Visit
from mnemic.server.authorisation import authorise
from mnemic.server.stream import ROUTE, StreamRequest, open_stream
from mnemic.types.event import Event, EventType


async def live_events(
    visit: Visit,
    to_html: Callable[[Event], str | None],
    *,
    types: Sequence[EventType] | None = None,
    everybody: bool = False,
    start: str = "now",
) -> Response:
    """The stream of events of the owner that the visitor looks at, each as HTML, from `start` on.

    Events for which `to_html` returns None only move the position.

    With `everybody`, those of the whole tenant; a key that is bound to an owner still sees only that one's.

    A browser that reconnects continues after the last event that it got. The view that returns this must be
    at `/events/stream`, the one path below `/ui` whose requests may last.
    """
    owner = visit.key.owner or (None if everybody else visit.owner or None)
    authorise(visit.key, ROUTE, [owner])
    memory = await visit.server.authenticator.memory_of(visit.found)
    wanted = StreamRequest(types, owner, visit.request.headers.get("last-event-id", start))
    return await open_stream(
        memory,
        visit.found,
        wanted,
        visit.server.streams,
        partial(visit.browser_sessions.recheck, visit.request),
        encode=lambda event: _message(event.position, to_html(event)),
    )


def _message(position: int, html: str | None) -> bytes:
    """A message of a stream. Its data may have several lines, but no other line ends than `\\n`."""
    lines = "".join(f"data: {line}\n" for line in (html or "").splitlines())
    return f"id: {position}\n{lines}\n".encode()
