"""Follow events as they happen.

`follow` reads a page, yields its events one by one, and advances its cursor past each event when the caller
asks for the next one. At the end of the log it waits for a wakeup. At most one page is held in memory. With a
consumer's name the cursor is stored in the database; without a name it lives as long as the iteration.

Of two readers under one name, the older one may be waiting when the newer one begins. So after waiting a
reader checks that the cursor is still its own before it yields anything.

When the database is unavailable, following pauses and then resumes where it was. An advance that may or may
not have been committed at that moment is repeated, which the database accepts.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from mnemic.db.database import TenantDatabase
from mnemic.errors import DatabaseUnavailableError, MnemicError
from mnemic.events.consumers import Start, advance_once, start_position, take_consumer
from mnemic.events.log import EventFilter
from mnemic.events.signal import EventWaiter
from mnemic.types.event import Event, EventReading

FIRST_RETRY_S = 0.1
LONGEST_RETRY_S = 2.0

OpenDatabase = Callable[[], TenantDatabase]
OnPassed = Callable[[int], None]
Result = TypeVar("Result")

logger = logging.getLogger("mnemic.events")


async def follow(
    open_database: OpenDatabase,
    event_filter: EventFilter,
    waiter: EventWaiter,
    *,
    consumer: str | None,
    start: Start,
    on_passed: OnPassed = lambda position: None,
) -> AsyncIterator[Event]:
    """Yield events from a position on, without end.

    `open_database` is called before each step, so that following ends when the memory is closed. `on_passed`
    gets the position up to which all matching events have been yielded.
    """
    cursor = await retry_while_unavailable(
        lambda: _open_cursor(open_database(), event_filter, consumer, start)
    )
    has_waited = False
    while True:
        waiter.clear()
        after = cursor.position
        page = await retry_while_unavailable(
            lambda: waiter.pages.read(open_database(), event_filter, after=after)  # noqa: B023
        )
        if page.events and has_waited:
            await cursor.check(open_database)
        for event in page.events:
            yield event
            await cursor.advance(open_database, event.position)
        await cursor.advance(open_database, page.through)
        on_passed(page.through)
        has_waited = not page.has_more
        if has_waited:
            await waiter.wait(cursor.position)


class Cursor:
    """The position of a reader without a name, held in memory."""

    def __init__(self, position: int) -> None:
        self.position = position

    async def advance(self, open_database: OpenDatabase, position: int) -> None:
        """Mark everything up to this position as seen."""
        self.position = position

    async def check(self, open_database: OpenDatabase) -> None:
        """Do nothing: no other reader can take this cursor."""


class StoredCursor(Cursor):
    """The position of a consumer, stored in the database."""

    def __init__(self, reading: EventReading) -> None:
        super().__init__(reading.position)
        self._reading = reading

    async def advance(self, open_database: OpenDatabase, position: int) -> None:
        """Mark everything up to this position as seen; ConflictError if another reader has taken over."""
        if position > self.position:
            await retry_while_unavailable(lambda: self._write(open_database(), position))
            self.position = position

    async def check(self, open_database: OpenDatabase) -> None:
        """ConflictError if another reader has taken over."""
        await retry_while_unavailable(lambda: self._write(open_database(), self.position))

    async def _write(self, database: TenantDatabase, position: int) -> None:
        await advance_once(database, replace(self._reading, position=self.position), position=position)


async def _open_cursor(
    database: TenantDatabase, event_filter: EventFilter, consumer: str | None, start: Start
) -> Cursor:
    if consumer is not None:
        return StoredCursor(await take_consumer(database, consumer, event_filter, start=start))
    async with database.transaction() as transaction:
        return Cursor(await start_position(transaction, start))


async def retry_while_unavailable(
    step: Callable[[], Awaitable[Result]],
    transient: tuple[type[MnemicError], ...] = (DatabaseUnavailableError,),
) -> Result:
    """Run a step, and repeat it with growing pauses while it fails with a transient error."""
    retry_s = FIRST_RETRY_S
    while True:
        try:
            return await step()
        except transient as error:
            logger.warning("following events pauses for %.1f s: %s", retry_s, error)
        await asyncio.sleep(retry_s)
        retry_s = min(2 * retry_s, LONGEST_RETRY_S)
