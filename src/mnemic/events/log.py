"""Reading the log of events, without gaps.

Positions become visible in their order (see `sql/migrations/0011_events.sql`), so whoever has read up to
one never has to look back. Before each read what was committed meanwhile gets its positions; with nothing
new that costs one look into an empty table.

Positions are dense, apart from events that were erased. That is why a page is bounded twice: by the events
that it gives and by the positions that it looks at. A reader that wants only few of many events moves on by
`through`, the last position looked at, and never searches the whole log in one statement.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import NotFoundError
from mnemic.types.event import Event
from mnemic.types.page import check_limit

PAGE_EVENTS = 100
PAGE_POSITIONS = 5_000
SEQUENCE_MAX = 1_000
DROP_MAX = 10_000


@dataclass(frozen=True)
class Wanted:
    """Which events somebody follows: those of an owner, of some types; None lets everything through."""

    owner: str | None = None
    types: list[str] | None = None

    @property
    def parameters(self) -> Mapping[str, Any]:
        """As the queries take it."""
        return {"owner": self.owner, "types": self.types}


@dataclass(frozen=True)
class Page:
    """Some events behind a position; everything up to `through` was looked at."""

    events: tuple[Event, ...]
    through: int
    has_more: bool


async def read_page(database: TenantDatabase, wanted: Wanted, *, after: int) -> Page:
    """What follows a position. NotFoundError if retention has dropped something behind it."""
    async with database.transaction() as transaction:
        moved = await sequence(transaction)
        return await page_of(transaction, wanted, after=after, is_newest=moved < SEQUENCE_MAX)


async def sequence(transaction: Transaction) -> int:
    """Give committed events their positions; no other transaction of the tenant can until this one ends."""
    return int((await transaction.one("events.sequence", {"most": SEQUENCE_MAX}))["moved"])


async def page_of(
    transaction: Transaction, wanted: Wanted, *, after: int, is_newest: bool = True, limit: int = PAGE_EVENTS
) -> Page:
    """The page behind a position, of what has positions already."""
    until = after + PAGE_POSITIONS
    parameters = {**wanted.parameters, "after": after, "until": until, "limit": limit}
    rows = await transaction.rows("events.page", parameters)
    if not rows:
        return Page((), after, has_more=False)
    check_kept(after, rows[0]["dropped_position"])
    events = tuple(as_event(row) for row in rows if row["position"] is not None)
    last_position = int(rows[0]["last_position"])
    through = events[-1].position if len(events) == limit else min(until, max(after, last_position))
    return Page(events, through, has_more=through < last_position or not is_newest)


def check_kept(after: int, dropped_position: int) -> None:
    """Refuse to read on from a place behind which events are missing."""
    if after < dropped_position:
        raise NotFoundError(
            f"The events behind position {after} up to {dropped_position} are no longer kept. Read what you "
            f"follow anew, then go on from position {dropped_position}; event_retention_days says how long "
            "events are kept."
        )


async def list_events(
    database: TenantDatabase, wanted: Wanted, *, after: int | None, limit: int
) -> list[Event]:
    """Events behind a position, the oldest first; without a position from the oldest kept on."""
    name = "events.list" if wanted.owner is None else "events.list_of_owner"
    parameters = {**wanted.parameters, "after": after or 0, "limit": check_limit(limit)}
    async with database.transaction() as transaction:
        await sequence(transaction)
        rows = await transaction.rows(name, parameters)
        # After reading: what was dropped in between is then missed rather than passed over in silence.
        if after is not None:
            check_kept(after, (await bounds(transaction)).dropped)
    return [as_event(row) for row in rows]


@dataclass(frozen=True)
class Bounds:
    """The newest position, and the newest one that is dropped."""

    last: int = 0
    dropped: int = 0


async def bounds(transaction: Transaction) -> Bounds:
    """How far the log reaches."""
    row = await transaction.first("events.bounds")
    return Bounds(row["last_position"], row["dropped_position"]) if row is not None else Bounds()


async def newest_position(transaction: Transaction) -> int:
    """The position behind which everything is new: whatever is committed by now lies before it."""
    while await sequence(transaction) == SEQUENCE_MAX:
        pass
    return (await bounds(transaction)).last


async def drop_events(database: TenantDatabase, *, keep_days: int) -> int:
    """Drop what is older than some days, a bounded number at a time; returns how many positions went."""
    dropped, last = 0, DROP_MAX
    while last == DROP_MAX:
        async with database.transaction(maintenance=True) as transaction:
            parameters = {"keep_days": keep_days, "most": DROP_MAX}
            last = int((await transaction.one("events.drop", parameters))["dropped"])
        dropped += last
    return dropped


def as_event(row: Row) -> Event:
    """A row of the log as it is handed out."""
    return Event(row["position"], row["type"], row["owner"], row["subject"], row["data"], row["at"])
