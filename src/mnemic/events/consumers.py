"""Consumers: named readers of events, each with a cursor stored in the database.

A consumer is *created* at a position by the first reader under its name, *taken* by each reader that begins,
*advanced* by that reader event by event, *set* to another position by `replay`, and *deleted*.

Only the reader that took the consumer last may advance it, and only from its current position. So of two
readers under one name the older one gets a ConflictError, and never marks an event as seen that the other one
also sees. An event is seen when the cursor is advanced past it: if a reader dies before that, the next reader
gets the event. Work done in the transaction that advances the cursor (`consume`) is done exactly once.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.events.log import PAGE_EVENTS, EventFilter, Page, bounds, newest_position, page_of, sequence
from mnemic.types.event import Event, EventConsumer, EventReading, check_position
from mnemic.types.identity import new_id
from mnemic.types.page import check_limit
from mnemic.types.scope import check_name

Start = Literal["now", "beginning"] | int


async def take_consumer(
    database: TenantDatabase, name: str, event_filter: EventFilter, *, start: Start
) -> EventReading:
    """Begin to read under a name; a new name begins at `start`."""
    reader = new_id()
    parameters = {**event_filter.parameters, "tenant_id": database.tenant.id, "name": name, "reader": reader}
    async with database.transaction() as transaction:
        row = await transaction.first("events.take_consumer", parameters)
        if row is None:
            position = await start_position(transaction, start)
            await transaction.execute("events.make_consumer", {**parameters, "position": position})
            row = await transaction.first("events.take_consumer", parameters)
    if row is None:
        raise ConflictError(
            f"The consumer {name!r} follows the events of another owner. Choose another name, or delete it."
        )
    return EventReading(name, event_filter.owner, row["position"], reader)


async def start_position(transaction: Transaction, start: Start) -> int:
    """The position after which a new reader begins."""
    if start == "now":
        return await newest_position(transaction)
    if start == "beginning":
        return (await bounds(transaction)).dropped
    return start


def check_start(field: str, start: object) -> Start:
    """Where a new reader begins, as the caller gives it."""
    if start == "now" or start == "beginning":
        return start
    try:
        return check_position(field, start)
    except InvalidInputError:
        raise InvalidInputError(
            f'{field} must be "now", "beginning" or the position of an event, not {ascii(start)[:40]}.'
        ) from None


async def advance_consumer(
    transaction: Transaction,
    reading: EventReading,
    *,
    expected: int,
    position: int,
    may_be_done: bool = False,
) -> None:
    """Advance the cursor to `position`; ConflictError if it is not where this reader left it.

    With `may_be_done` an earlier attempt whose response was lost may already have advanced it.
    """
    parameters = {
        "name": reading.consumer,
        "owner": reading.owner,
        "reader": reading.reader,
        "expected_positions": [expected, position] if may_be_done else [expected],
        "position": position,
    }
    if not await transaction.execute("events.move_consumer", parameters):
        raise ConflictError(
            f"The consumer {reading.consumer!r} is no longer this reader's: another reader took over its "
            f"name, or it was set to another position or deleted. Events after position {expected} were not "
            "marked as seen here. Give each reader a name of its own."
        )


async def advance_once(database: TenantDatabase, reading: EventReading, *, position: int) -> None:
    """Advance the cursor from `reading.position` in a transaction of its own; repeating it is no conflict."""
    async with database.transaction() as transaction:
        await advance_consumer(
            transaction, reading, expected=reading.position, position=position, may_be_done=True
        )


async def consume(
    database: TenantDatabase,
    reading: EventReading,
    event_filter: EventFilter,
    work: Callable[[Transaction, Sequence[Event]], Awaitable[None]],
    *,
    after: int,
    limit: int = PAGE_EVENTS,
) -> Page:
    """Do some work with the next events and advance the cursor past them, both or neither.

    Returns the page; pass its `through` as `after` the next time.
    """
    # In a transaction of its own, so that other readers of the log do not wait for the work.
    async with database.transaction() as transaction:
        await sequence(transaction)
    async with database.transaction() as transaction:
        page = await page_of(transaction, event_filter, after=after, limit=limit)
        if page.through > after:
            if page.events:
                await work(transaction, page.events)
            await advance_consumer(transaction, reading, expected=after, position=page.through)
    return page


async def set_consumer_position(
    database: TenantDatabase, name: str, position: Start, *, owner: str | None
) -> None:
    """Set the cursor of a consumer, to read events again or to skip some."""
    parameters = {"name": check_name("consumer", name), "owner": owner}
    async with database.transaction() as transaction:
        start = await start_position(transaction, position)
        if not await transaction.execute("events.place_consumer", {**parameters, "position": start}):
            raise NotFoundError(
                f"There is no consumer {name!r}. `memory.events.consumers()` lists the consumers."
            )


async def delete_consumer(database: TenantDatabase, name: str, *, owner: str | None) -> bool:
    """Delete a consumer; returns whether there was one."""
    parameters = {"name": check_name("consumer", name), "owner": owner}
    async with database.transaction() as transaction:
        return await transaction.execute("events.delete_consumer", parameters) > 0


async def list_consumers(
    database: TenantDatabase, *, owner: str | None, after: str, limit: int
) -> list[EventConsumer]:
    """Consumers ordered by name, a page at a time."""
    parameters = {"owner": owner, "after": after, "limit": check_limit(limit)}
    async with database.transaction() as transaction:
        await sequence(transaction)
        rows = await transaction.rows("events.list_consumers", parameters)
    return [_as_consumer(row) for row in rows]


def _as_consumer(row: Row) -> EventConsumer:
    types = tuple(row["types"]) if row["types"] is not None else None
    return EventConsumer(**{**row, "types": types})
