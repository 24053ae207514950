"""Consumers: names under which events are followed, each with a place that outlives the process.

A consumer is *made* at a position by the first who reads under its name, *taken* by each reader that begins,
*moved* on by that reader event by event, *placed* elsewhere by `replay`, and *deleted*.

Only the reader that took it last moves it, and only from where it stands. So of two readers under one name
the older one gets a ConflictError when it wants to go on, and never passes an event that the other passes,
too. An event counts as seen when the place moves behind it: a reader that dies before that leaves it to the
next. Whoever does its work in the transaction that moves the place (`consume`) does it exactly once.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.events.log import PAGE_EVENTS, Page, Wanted, bounds, newest_position, page_of, sequence
from mnemic.types.event import Event, EventConsumer, EventReading, check_position
from mnemic.types.identity import new_id
from mnemic.types.page import check_limit
from mnemic.types.scope import check_name

Start = Literal["now", "beginning"] | int


async def take_consumer(database: TenantDatabase, name: str, wanted: Wanted, *, start: Start) -> EventReading:
    """Begin to read under a name; `start` says where a name that is new begins."""
    reader = new_id()
    parameters = {**wanted.parameters, "tenant_id": database.tenant.id, "name": name, "reader": reader}
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
    return EventReading(name, wanted.owner, row["position"], reader)


async def start_position(transaction: Transaction, start: Start) -> int:
    """The position behind which somebody new begins."""
    if start == "now":
        return await newest_position(transaction)
    if start == "beginning":
        return (await bounds(transaction)).dropped
    return start


def check_start(field: str, start: object) -> Start:
    """Where somebody new begins, as callers say it."""
    if start == "now" or start == "beginning":
        return start
    try:
        return check_position(field, start)
    except InvalidInputError:
        raise InvalidInputError(
            f'{field} must be "now", "beginning" or the position of an event, not {ascii(start)[:40]}.'
        ) from None


async def move_consumer(
    transaction: Transaction,
    reading: EventReading,
    *,
    expected: int,
    position: int,
    may_be_there: bool = False,
) -> None:
    """Put the place behind `position`; ConflictError if it is not where this reader left it.

    With `may_be_there` it may have been moved already, by a first try whose answer was lost.
    """
    parameters = {
        "name": reading.consumer,
        "owner": reading.owner,
        "reader": reading.reader,
        "expected_positions": [expected, position] if may_be_there else [expected],
        "position": position,
    }
    if not await transaction.execute("events.move_consumer", parameters):
        raise ConflictError(
            f"The consumer {reading.consumer!r} is no longer this reader's: another one began to read under "
            f"the same name, or it was placed elsewhere or deleted. What follows position {expected} was not "
            "marked as seen here. Give each reader a name of its own."
        )


async def move_once(database: TenantDatabase, reading: EventReading, *, position: int) -> None:
    """Move the place from where `reading` has it, in a transaction of its own; twice is no conflict."""
    async with database.transaction() as transaction:
        await move_consumer(
            transaction, reading, expected=reading.position, position=position, may_be_there=True
        )


async def consume(
    database: TenantDatabase,
    reading: EventReading,
    wanted: Wanted,
    work: Callable[[Transaction, Sequence[Event]], Awaitable[None]],
    *,
    after: int,
    limit: int = PAGE_EVENTS,
) -> Page:
    """Do some work with the next events and move the place behind them, both or neither.

    Returns the page; pass its `through` as `after` the next time.
    """
    # On its own, so that nobody who reads the log waits for the work.
    async with database.transaction() as transaction:
        await sequence(transaction)
    async with database.transaction() as transaction:
        page = await page_of(transaction, wanted, after=after, limit=limit)
        if page.through > after:
            if page.events:
                await work(transaction, page.events)
            await move_consumer(transaction, reading, expected=after, position=page.through)
    return page


async def place_consumer(database: TenantDatabase, name: str, position: Start, *, owner: str | None) -> None:
    """Put a consumer behind a position, to read again what follows, or to pass over something."""
    parameters = {"name": check_name("consumer", name), "owner": owner}
    async with database.transaction() as transaction:
        place = await start_position(transaction, position)
        if not await transaction.execute("events.place_consumer", {**parameters, "position": place}):
            raise NotFoundError(
                f"There is no consumer {name!r}. `memory.events.consumers()` lists those there are."
            )


async def delete_consumer(database: TenantDatabase, name: str, *, owner: str | None) -> bool:
    """Forget a consumer; returns whether there was one."""
    parameters = {"name": check_name("consumer", name), "owner": owner}
    async with database.transaction() as transaction:
        return await transaction.execute("events.delete_consumer", parameters) > 0


async def list_consumers(
    database: TenantDatabase, *, owner: str | None, after: str, limit: int
) -> list[EventConsumer]:
    """Consumers by name, a page at a time."""
    parameters = {"owner": owner, "after": after, "limit": check_limit(limit)}
    async with database.transaction() as transaction:
        await sequence(transaction)
        rows = await transaction.rows("events.list_consumers", parameters)
    return [_as_consumer(row) for row in rows]


def _as_consumer(row: Row) -> EventConsumer:
    types = tuple(row["types"]) if row["types"] is not None else None
    return EventConsumer(**{**row, "types": types})
