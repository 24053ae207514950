"""The page Events: changes as they happen, newest first, and the consumers that follow them."""

from collections.abc import Sequence
from typing import cast

from mnemic.dashboard.live import live_events
from mnemic.dashboard.pages import Answer, Page, Shown, View
from mnemic.dashboard.rendering import environment
from mnemic.dashboard.visit import Visit
from mnemic.types.event import EVENT_TYPES, Event, EventType

LISTED_MAX = 60
CONSUMERS_MAX = 50
KINDS = tuple(dict.fromkeys(name.partition(".")[0] for name in EVENT_TYPES))
"""What events are about: all types that begin with the word."""


async def show(visit: Visit) -> Answer:
    """List the newest events, or those before a position."""
    before = visit.query.whole_number("before", default=0, low=0, high=10**9 - 1) or None
    memory = visit.memory if _is_one_owner(visit) else visit.tenant_memory
    # Read first: the stream continues here if the list is empty, and must not miss what comes meanwhile.
    newest = await memory.events.list(order="newest", limit=1)
    found = await memory.events.list(order="newest", before=before, types=_types(visit), limit=LISTED_MAX + 1)
    context = {
        "listed": found[:LISTED_MAX],
        "older": found[LISTED_MAX - 1].position if len(found) > LISTED_MAX else None,
        "before": before,
        "after": next((each.position for each in (*found, *newest)), "beginning"),
        "only": _is_one_owner(visit),
        "type": visit.query.text("type") or "",
        "types": EVENT_TYPES,
        "kinds": KINDS,
        "consumers": await visit.tenant_memory.events.consumers(limit=CONSUMERS_MAX),
    }
    return Shown("events.html", context)


async def stream(visit: Visit) -> Answer:
    """The same events as they happen, each as a row of the list; with a subject, only those about it."""
    row = environment().get_template("fragments/_event.html")

    subject = visit.query.name("subject")

    def to_html(event: Event) -> str | None:
        is_wanted = subject is None or event.subject == subject
        return row.render(visit=visit, event=event) if is_wanted else None

    # From the newest event of the list on, so that none is missed between the two requests.
    start = visit.query.text("after") or "now"
    is_one = _is_one_owner(visit)
    return await live_events(visit, to_html, types=_types(visit), everybody=not is_one, start=start)


def _is_one_owner(visit: Visit) -> bool:
    """Whether only events of one owner are shown: of the one that the key is bound to, or by choice."""
    return visit.key.owner is not None or (visit.query.flag("only") and bool(visit.owner))


def _types(visit: Visit) -> Sequence[EventType] | None:
    """The types that the visitor chose: one of them, or all about one kind of thing."""
    chosen = visit.query.choice("type", (*KINDS, *EVENT_TYPES), default="")
    found = [name for name in EVENT_TYPES if chosen in (name, name.partition(".")[0])]
    return cast("Sequence[EventType]", found) or None


PAGE = Page(
    name="events",
    title="Events",
    group="Machinery",
    icon="pulse",
    key="n",
    views=(
        View("GET", "/events", show, call="events.list"),
        View("GET", "/events/stream", stream, call="events.subscribe", has_frame=False),
    ),
)
