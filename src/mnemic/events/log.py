"""Read the event log, without gaps.

Positions become visible in order (see `sql/migrations/0011_events.sql`), so a reader never has to look back.
Each read first assigns positions to the events committed since; without new events that costs one read of an
empty table.

Positions are dense, except for erased events. So a page has two bounds: the events that it returns and the
positions that it scans. A reader whose filter matches few events advances by `through`, the last position
scanned, and never scans the whole log in one statement.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import NotFoundError
from mnemic.types.event import POSITION_MAX, Event, EventOrder
from mnemic.types.page import check_limit

PAGE_EVENTS = 100
PAGE_POSITIONS = 5_000
SEQUENCE_MAX = 1_000
DROP_MAX = 10_000
NEWEST_MAX_ROUNDS = 10
"""How often a list of the newest events assigns positions first; after a large import some have none yet."""


@dataclass(frozen=True)
class EventFilter:
    """Which events to read: those of an owner, of some types; None matches all."""

    owner: str | None = None
    types: list[str] | None = None

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the queries."""
        return {"owner": self.owner, "types": self.types}


@dataclass(frozen=True)
class Page:
    """Some events after a position; everything up to `through` was scanned."""

    events: tuple[Event, ...]
    through: int
    has_more: bool


async def read_page(database: TenantDatabase, event_filter: EventFilter, *, after: int) -> Page:
    """The events after a position. NotFoundError if retention has dropped some of them."""
    async with database.transaction() as transaction:
        moved = await sequence(transaction)
        return await page_of(transaction, event_filter, after=after, is_newest=moved < SEQUENCE_MAX)


async def sequence(transaction: Transaction) -> int:
    """Assign positions to committed events; other transactions of the tenant wait until this one ends."""
    return int((await transaction.one("events.sequence", {"most": SEQUENCE_MAX}))["moved"])


async def page_of(
    transaction: Transaction,
    event_filter: EventFilter,
    *,
    after: int,
    is_newest: bool = True,
    limit: int = PAGE_EVENTS,
) -> Page:
    """The page after a position, of events that have positions."""
    until = after + PAGE_POSITIONS
    parameters = {**event_filter.parameters, "after": after, "until": until, "limit": limit}
    rows = await transaction.rows("events.page", parameters)
    if not rows:
        return Page((), after, has_more=False)
    check_kept(after, rows[0]["dropped_position"])
    events = tuple(as_event(row) for row in rows if row["position"] is not None)
    last_position = int(rows[0]["last_position"])
    through = events[-1].position if len(events) == limit else min(until, max(after, last_position))
    return Page(events, through, has_more=through < last_position or not is_newest)


def check_kept(after: int, dropped_position: int) -> None:
    """Refuse to read on from a position after which events were dropped."""
    if after < dropped_position:
        raise NotFoundError(
            f"The events after position {after} up to {dropped_position} are no longer kept. Read the "
            f"current state again, then continue from position {dropped_position}; event_retention_days says "
            "how long events are kept."
        )


async def list_events(
    database: TenantDatabase,
    event_filter: EventFilter,
    *,
    after: int | None,
    before: int | None,
    order: EventOrder,
    limit: int,
) -> list[Event]:
    """Events between two positions: from the oldest one kept on, or from the newest one back."""
    parameters = {
        **event_filter.parameters,
        "after": after or 0,
        "before": POSITION_MAX + 1 if before is None else before,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        await _sequence_for(transaction, order)
        rows = await transaction.rows(_list_query(event_filter, order), parameters)
        # After reading, so that events dropped in between raise an error and are not skipped silently.
        if after is not None:
            check_kept(after, (await bounds(transaction)).dropped)
    return [as_event(row) for row in rows]


async def _sequence_for(transaction: Transaction, order: EventOrder) -> None:
    """Assign positions to the next events; for the newest ones to all, unless there are very many."""
    rounds = NEWEST_MAX_ROUNDS if order == "newest" else 1
    while rounds and await sequence(transaction) == SEQUENCE_MAX:
        rounds -= 1


def _list_query(event_filter: EventFilter, order: EventOrder) -> str:
    if order == "oldest":
        return "events.list" if event_filter.owner is None else "events.list_of_owner"
    if event_filter.owner is not None:
        return "events.newest_of_owner"
    return "events.newest" if event_filter.types is None else "events.newest_of_types"


@dataclass(frozen=True)
class Bounds:
    """The newest position, and the newest dropped one."""

    last: int = 0
    dropped: int = 0


async def bounds(transaction: Transaction) -> Bounds:
    """The bounds of the log."""
    row = await transaction.first("events.bounds")
    return Bounds(row["last_position"], row["dropped_position"]) if row is not None else Bounds()


async def newest_position(transaction: Transaction) -> int:
    """The position of the newest event; everything committed by now is at or before it."""
    while await sequence(transaction) == SEQUENCE_MAX:
        pass
    return (await bounds(transaction)).last


async def drop_events(database: TenantDatabase, *, keep_days: int) -> int:
    """Drop events older than some days, a bounded number at a time; returns how many positions."""
    dropped, last = 0, DROP_MAX
    while last == DROP_MAX:
        async with database.transaction(maintenance=True) as transaction:
            parameters = {"keep_days": keep_days, "most": DROP_MAX}
            last = int((await transaction.one("events.drop", parameters))["dropped"])
        dropped += last
    return dropped


def as_event(row: Row) -> Event:
    """An event from its row."""
    return Event(row["position"], row["type"], row["owner"], row["subject"], row["data"], row["at"])
