"""The page Context: sessions whose window is paged; levels over requests, pressure, faults and savings."""

import asyncio
from collections.abc import Mapping, Sequence

from mnemic.dashboard.context_bands import LEVELS, bands_of, draw_bands
from mnemic.dashboard.pages import Answer, Page, Redirected, Shown, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import InvalidInputError
from mnemic.sdk.groups.context import AsyncContext
from mnemic.types.context import ContextEvent, ContextObject
from mnemic.types.page import LIST_MAX

LISTED_MAX = 25
OBJECTS_MAX = 1_000
"""Objects of a session that are read; the chart needs all of them."""
OBJECTS_SHOWN = 60
EVENTS_MAX = 10_000
"""Decisions that are read; a longer session is drawn up to there."""
EVENTS_SHOWN = 40
STATES: Mapping[str, bool | None] = {"all": None, "open": True, "closed": False}


async def show(visit: Visit) -> Answer:
    """List sessions, newest first."""
    state = visit.query.choice("state", STATES, default="all")
    stream = await _stream(visit)
    found = await visit.memory.contexts.list(
        is_open=STATES[state], before=visit.query.id("before"), limit=LISTED_MAX + 1
    )
    context = {
        "listed": found[:LISTED_MAX],
        "older": found[LISTED_MAX - 1].session_id if len(found) > LISTED_MAX else None,
        "states": tuple(STATES),
        "state": state,
        "stream": stream,
    }
    return Shown("contexts.html", context, fragments={"#sessions": "fragments/_context_sessions.html"})


async def show_one(visit: Visit) -> Answer:
    """Show a session: its window over time, its objects and its decisions."""
    session = _session(visit.query.name("session"))
    pages = visit.memory.context(session)
    stream = await _stream(visit, subject=session)
    summary, pressure, objects, events = await asyncio.gather(
        pages.summary(),
        pages.pressure(),
        pages.objects(limit=OBJECTS_MAX),
        _history(pages),
    )
    requests = bands_of(events, objects)
    context = {
        "session": session,
        "summary": summary,
        "pressure": pressure,
        "chart": draw_bands(requests) if requests else None,
        "requests": requests,
        "objects": _most_relevant(objects),
        "object_count": len(objects),
        "events": _decisions(events),
        "levels": LEVELS,
        "stream": stream,
    }
    return Shown("context.html", context, fragments={"#window": "fragments/_context_window.html"})


async def _stream(visit: Visit, *, subject: str | None = None) -> str:
    """The stream of the events that come after what the page shows: call it before reading that."""
    if visit.is_part:
        return ""
    newest = await visit.memory.events.list(order="newest", limit=1)
    after = newest[0].position if newest else "beginning"
    return visit.url("events/stream", type="context", only="yes", subject=subject, after=after)


async def _history(pages: AsyncContext) -> list[ContextEvent]:
    """All decisions in order, up to `EVENTS_MAX`."""
    found = list(await pages.history(limit=LIST_MAX))
    while len(found) % LIST_MAX == 0 and 0 < len(found) < EVENTS_MAX:
        more = await pages.history(after=found[-1].event_id, limit=LIST_MAX)
        if not more:
            break
        found += more
    return found


async def pin(visit: Visit) -> Answer:
    """Pin or unpin an object."""
    form = await visit.form()
    session, key = _session(form.name("session")), form.required("key")
    pages = visit.memory.context(session)
    if form.choice("act", ("pin", "unpin"), default="pin") == "pin":
        await pages.pin(key)
        return Redirected(_back(visit, session), "Pinned: it keeps its level.")
    await pages.unpin(key)
    return Redirected(_back(visit, session), "Unpinned: it may become shorter again.")


async def restore(visit: Visit) -> Answer:
    """Bring the full text of an object back into the window."""
    form = await visit.form()
    session = _session(form.name("session"))
    restored = await visit.memory.context(session).restore(form.required("key"))
    return Redirected(
        _back(visit, session), f"Restored {len(restored.texts)} in full: {restored.tokens:,} tokens."
    )


async def close(visit: Visit) -> Answer:
    """Close a session; what proved useful becomes memories."""
    session = _session((await visit.form()).name("session"))
    closed = await visit.memory.context(session).close()
    return Redirected(_back(visit, session), f"Closed. New memories: {len(closed.memory_ids)}.")


def _session(name: str | None) -> str:
    if name is None:
        raise InvalidInputError("session is missing: the name of a session. The page Context lists them.")
    return name


def _most_relevant(objects: Sequence[ContextObject]) -> list[ContextObject]:
    """Pinned objects first, then those used last."""
    ordered = sorted(objects, key=lambda each: (not each.is_pinned, -each.last_use))
    return ordered[:OBJECTS_SHOWN]


def _decisions(events: Sequence[ContextEvent]) -> list[ContextEvent]:
    """The newest decisions; requests and admissions in full are in the chart."""
    shown = [
        event
        for event in events
        if event.kind in ("transition", "fault", "epoch") or (event.kind == "admission" and event.to_level)
    ]
    return shown[::-1][:EVENTS_SHOWN]


def _back(visit: Visit, session: str) -> str:
    return visit.url("context/session", session=session)


PAGE = Page(
    name="context",
    title="Context",
    group="Memory",
    icon="window",
    key="x",
    needs_owner=True,
    views=(
        View("GET", "/context", show, call="contexts.list"),
        View("GET", "/context/session", show_one, call="context.summary"),
        View("POST", "/context/pin", pin, call="context.pin"),
        View("POST", "/context/restore", restore, call="context.restore"),
        View("POST", "/context/close", close, call="context.close"),
    ),
)
