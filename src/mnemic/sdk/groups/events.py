"""`memory.events`: what happened, in order."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

from mnemic.errors import InvalidInputError
from mnemic.events import consumers, log
from mnemic.events.consumers import Start, check_start
from mnemic.events.following import OnPassed, follow
from mnemic.events.log import EventFilter
from mnemic.runtime.core import Caller
from mnemic.types.checks import check_id
from mnemic.types.event import (
    Event,
    EventConsumer,
    EventReading,
    EventType,
    check_event_types,
    check_position,
)
from mnemic.types.scope import check_name


class AsyncEvents:
    """What happened to memories, entities, relations and state: to be followed, listed and read again.

    A memory that is used for an owner sees the events of that owner; one without sees all of its tenant.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def subscribe(
        self,
        consumer: str | None = None,
        *,
        types: Sequence[EventType] | None = None,
        owner: str | None = None,
        start: Start = "now",
    ) -> AsyncIterator[Event]:
        """Follow events as they happen, without end.

        With a `consumer` name the place in the log is kept: whoever subscribes under the name again goes on
        there, and has missed nothing. An event is marked as seen when the next one is asked for. The last one
        to subscribe under a name has it; an earlier one gets a ConflictError when it asks for more. `start`
        is for names that are new: "now", "beginning" (of what is kept) or behind a position.
        """
        wanted = self._wanted(types, owner)
        name = check_name("consumer", consumer) if consumer is not None else None
        return self._follow(wanted, name, check_start("start", start))

    async def take_consumer(
        self,
        consumer: str,
        *,
        types: Sequence[EventType] | None = None,
        owner: str | None = None,
        start: Start = "now",
    ) -> EventReading:
        """Begin to read under a consumer's name, without following: what `subscribe` does first.

        For those who list events themselves and say with `move_consumer` how far they are. Whoever had the
        consumer before gets a ConflictError when it wants to go on.
        """
        name, place = check_name("consumer", consumer), check_start("start", start)
        database, wanted = self._caller.database, self._wanted(types, owner)
        return await consumers.take_consumer(database, name, wanted, start=place)

    async def move_consumer(
        self,
        consumer: str,
        *,
        reader: UUID | str,
        expected: int,
        position: int,
        owner: str | None = None,
    ) -> None:
        """Be done with everything up to `position`, as the `reader` that took the consumer.

        `expected` is where this reader left it. ConflictError if it stands elsewhere, or another reader has
        taken it. Saying the same again changes nothing; `position` may be `expected`, to see who has it.
        """
        left, reached = check_position("expected", expected), check_position("position", position)
        if reached < left:
            raise InvalidInputError("position must not lie before expected; `replay` reads again.")
        held = check_name("consumer", consumer), self._caller.scope.narrowed(owner=owner).owner
        await consumers.advance_once(
            self._caller.database, EventReading(*held, left, check_id("reader", reader)), position=reached
        )

    async def on(
        self,
        handler: Callable[[Event], Awaitable[Any] | Any],
        *,
        consumer: str | None = None,
        types: Sequence[EventType] | None = None,
        owner: str | None = None,
        start: Start = "now",
    ) -> None:
        """Call a function with each event, one after the other, until this call is cancelled.

        The function may be async or plain; a plain one runs in a thread. If it raises, the error ends this
        call, and the event stays unseen: whoever subscribes under the consumer's name next gets it again.
        """
        if not callable(handler):
            raise InvalidInputError("handler must be a function that takes an event.")
        is_async = inspect.iscoroutinefunction(handler)
        async for event in self.subscribe(consumer, types=types, owner=owner, start=start):
            outcome = handler(event) if is_async else await asyncio.to_thread(handler, event)
            if inspect.isawaitable(outcome):
                await outcome

    async def list(
        self,
        *,
        after: int | None = None,
        limit: int = 100,
        types: Sequence[EventType] | None = None,
        owner: str | None = None,
    ) -> Sequence[Event]:
        """Events behind a position, the oldest first; without `after` from the oldest that is kept.

        NotFoundError if events behind `after` are no longer kept.
        """
        place = check_position("after", after) if after is not None else None
        return await log.list_events(
            self._caller.database, self._wanted(types, owner), after=place, limit=limit
        )

    async def consumers(self, *, after: str = "", limit: int = 100) -> Sequence[EventConsumer]:
        """Who follows events under a name, and how far behind; `after` is the last name of a page."""
        return await consumers.list_consumers(
            self._caller.database,
            owner=self._caller.scope.owner,
            after=check_name("after", after) if after != "" else "",
            limit=limit,
        )

    async def replay(self, consumer: str, position: Start) -> None:
        """Put a consumer behind a position ("beginning" and "now" stand for the ends of the log).

        Whoever reads under its name gets a ConflictError when it asks for more; the next one begins there.
        """
        await consumers.set_consumer_position(
            self._caller.database,
            consumer,
            check_start("position", position),
            owner=self._caller.scope.owner,
        )

    async def forget_consumer(self, consumer: str) -> bool:
        """Delete a consumer and its place; returns whether there was one."""
        return await consumers.delete_consumer(
            self._caller.database, consumer, owner=self._caller.scope.owner
        )

    async def _follow(
        self, wanted: EventFilter, name: str | None, start: Start, passed: OnPassed = lambda position: None
    ) -> AsyncIterator[Event]:
        core = self._caller.core
        async with core.event_signal.waiting(core.storage.database) as waiter:
            events = follow(
                lambda: self._caller.database, wanted, waiter, consumer=name, start=start, on_passed=passed
            )
            async for event in events:
                yield event

    def _wanted(self, types: Sequence[EventType] | None, owner: str | None) -> EventFilter:
        scope = self._caller.scope.narrowed(owner=owner)
        return EventFilter(scope.owner, check_event_types("types", types))


def follow_telling(
    events: AsyncEvents, types: Sequence[EventType] | None, owner: str | None, start: Start, passed: OnPassed
) -> AsyncIterator[Event]:
    """For the server's stream: `subscribe`, which also tells how far it is where nothing is wanted."""
    return events._follow(events._wanted(types, owner), None, start, passed)
