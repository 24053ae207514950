"""Following events as they happen.

`follow` reads a page, hands its events out one by one, and moves its place behind each when the next one is
asked for; at the end of the log it waits to be woken. At most a page is held in memory. With a consumer's
name the place is kept in the database, without one it lives as long as the iteration.

Of two that follow under one name the older one may be waiting when the newer begins. So who has waited looks
whether the place is still its own before it hands anything out.

When the database goes away, following pauses and carries on where it was: a place that may or may not have
moved in that moment is moved again, which the database takes for what it is.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from mnemic.db.database import TenantDatabase
from mnemic.errors import DatabaseUnavailableError, MnemicError
from mnemic.events.consumers import Start, move_once, start_position, take_consumer
from mnemic.events.log import Wanted, read_page
from mnemic.events.signal import Waiter
from mnemic.types.event import Event, EventReading

FIRST_RETRY_S = 0.1
LONGEST_RETRY_S = 2.0

OpenDatabase = Callable[[], TenantDatabase]
Passed = Callable[[int], None]
Result = TypeVar("Result")

logger = logging.getLogger("mnemic.events")


async def follow(
    open_database: OpenDatabase,
    wanted: Wanted,
    waiter: Waiter,
    *,
    consumer: str | None,
    start: Start,
    passed: Passed = lambda position: None,
) -> AsyncIterator[Event]:
    """Events from a place on, without end.

    `open_database` is asked before each step, so that following ends when the memory is closed. `passed` is
    told up to which position all wanted events were handed out.
    """
    place = await carry_on(lambda: _begin(open_database(), wanted, consumer, start))
    has_waited = False
    while True:
        waiter.forget()
        after = place.position
        page = await carry_on(lambda: read_page(open_database(), wanted, after=after))  # noqa: B023
        if page.events and has_waited:
            await place.hold(open_database)
        for event in page.events:
            yield event
            await place.move(open_database, event.position)
        await place.move(open_database, page.through)
        passed(page.through)
        has_waited = not page.has_more
        if has_waited:
            await waiter.wait()


class Place:
    """How far somebody is who follows without a name."""

    def __init__(self, position: int) -> None:
        self.position = position

    async def move(self, open_database: OpenDatabase, position: int) -> None:
        """Done with everything up to here."""
        self.position = position

    async def hold(self, open_database: OpenDatabase) -> None:
        """Nobody else can have it."""


class KeptPlace(Place):
    """The same, kept in the database under a consumer's name."""

    def __init__(self, reading: EventReading) -> None:
        super().__init__(reading.position)
        self._reading = reading

    async def move(self, open_database: OpenDatabase, position: int) -> None:
        """Done with everything up to here; ConflictError if another reader has taken over."""
        if position > self.position:
            await carry_on(lambda: self._write(open_database(), position))
            self.position = position

    async def hold(self, open_database: OpenDatabase) -> None:
        """ConflictError if another reader has taken over."""
        await carry_on(lambda: self._write(open_database(), self.position))

    async def _write(self, database: TenantDatabase, position: int) -> None:
        await move_once(database, replace(self._reading, position=self.position), position=position)


async def _begin(database: TenantDatabase, wanted: Wanted, consumer: str | None, start: Start) -> Place:
    if consumer is not None:
        return KeptPlace(await take_consumer(database, consumer, wanted, start=start))
    async with database.transaction() as transaction:
        return Place(await start_position(transaction, start))


async def carry_on(
    step: Callable[[], Awaitable[Result]],
    passing: tuple[type[MnemicError], ...] = (DatabaseUnavailableError,),
) -> Result:
    """Do one step, again and again while it fails for reasons that pass: the database cannot be reached."""
    retry_s = FIRST_RETRY_S
    while True:
        try:
            return await step()
        except passing as error:
            logger.warning("following events pauses for %.1f s: %s", retry_s, error)
        await asyncio.sleep(retry_s)
        retry_s = min(2 * retry_s, LONGEST_RETRY_S)
