"""`memory.events`: changes to memories, entities, relations and state, in order."""

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
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.checks import check_choice, check_id
from mnemic.types.event import (
    EVENT_ORDERS,
    Event,
    EventConsumer,
    EventOrder,
    EventReading,
    EventType,
    check_event_types,
    check_position,
)
from mnemic.types.scope import check_name


class AsyncEvents(CallGroup):
    """Changes to memories, entities, relations and state: follow them, list them, read them again.

    A memory with an owner sees the events of that owner; a memory without one sees all events of its tenant.
    """

    @routed("events.subscribe")
    def subscribe(
        self,
        consumer: str | None = None,
        *,
        types: Sequence[EventType] | None = None,
        owner: str | None = None,
        start: Start = "now",
    ) -> AsyncIterator[Event]:
        """Follow events as they happen, without end.

        With a `consumer` name the position is stored: the next subscription under this name continues there
        and misses nothing. Requesting the next event marks the previous one as processed. The last
        subscription under a name wins; an earlier one gets a ConflictError when it requests the next event.
        `start` applies to new names: "now", "beginning" (of the events that are kept) or after a position.
        """
        wanted = self._wanted(types, owner)
        name = check_name("consumer", consumer) if consumer is not None else None
        return self._follow(wanted, name, check_start("start", start))

    @routed("events.take_consumer")
    async def take_consumer(
        self,
        consumer: str,
        *,
        types: Sequence[EventType] | None = None,
        owner: str | None = None,
        start: Start = "now",
    ) -> EventReading:
        """Start to read under a consumer's name without following: the first step of `subscribe`.

        For programs that list events themselves and store their position with `move_consumer`. The previous
        reader of the consumer gets a ConflictError when it continues.
        """
        name, place = check_name("consumer", consumer), check_start("start", start)
        database, wanted = self._caller.database, self._wanted(types, owner)
        return await consumers.take_consumer(database, name, wanted, start=place)

    @routed("events.move_consumer")
    async def move_consumer(
        self,
        consumer: str,
        *,
        reader: UUID | str,
        expected: int,
        position: int,
        owner: str | None = None,
    ) -> None:
        """Store that everything up to `position` is processed, as the `reader` that took the consumer.

        `expected` is the position that this reader stored last. ConflictError if the stored position differs,
        or another reader has taken the consumer. Repeating a call does nothing; `position` may equal
        `expected`, to check that the reader still has the consumer.
        """
        left, reached = check_position("expected", expected), check_position("position", position)
        if reached < left:
            raise InvalidInputError("position must not be below expected; `replay` reads events again.")
        held = check_name("consumer", consumer), self._scope.narrowed(owner=owner).owner
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

        The function may be async; a plain function runs in a thread. If it raises, the error ends this call
        and the event stays unprocessed: the next subscription under the consumer's name gets it again.
        """
        if not callable(handler):
            raise InvalidInputError("handler must be a function that takes an event.")
        is_async = inspect.iscoroutinefunction(handler)
        async for event in self.subscribe(consumer, types=types, owner=owner, start=start):
            outcome = handler(event) if is_async else await asyncio.to_thread(handler, event)
            if inspect.isawaitable(outcome):
                await outcome

    @routed("events.list")
    async def list(
        self,
        *,
        after: int | None = None,
        before: int | None = None,
        order: EventOrder = "oldest",
        limit: int = 100,
        types: Sequence[EventType] | None = None,
        owner: str | None = None,
    ) -> Sequence[Event]:
        """Return events after and before a position, oldest first or newest first.

        The next page starts `after` the last position of the previous one, or `before` it if the newest come
        first. NotFoundError if events after `after` are no longer kept.
        """
        check_choice("order", order, EVENT_ORDERS)
        return await log.list_events(
            self._caller.database,
            self._wanted(types, owner),
            after=check_position("after", after) if after is not None else None,
            before=check_position("before", before) if before is not None else None,
            order=order,
            limit=limit,
        )

    @routed("events.consumers")
    async def consumers(self, *, after: str = "", limit: int = 100) -> Sequence[EventConsumer]:
        """Return the named consumers and how far behind they are; `after` is the last name of a page."""
        return await consumers.list_consumers(
            self._caller.database,
            owner=self._scope.owner,
            after=check_name("after", after) if after != "" else "",
            limit=limit,
        )

    @routed("events.replay")
    async def replay(self, consumer: str, position: Start) -> None:
        """Set a consumer to a position ("beginning" and "now" are the ends of the log).

        A reader of the consumer gets a ConflictError when it requests the next event; the next subscription
        starts at the position.
        """
        await consumers.set_consumer_position(
            self._caller.database,
            consumer,
            check_start("position", position),
            owner=self._scope.owner,
        )

    @routed("events.forget_consumer")
    async def forget_consumer(self, consumer: str) -> bool:
        """Delete a consumer and its position; returns whether it existed."""
        return await consumers.delete_consumer(self._caller.database, consumer, owner=self._scope.owner)

    async def _follow(
        self, wanted: EventFilter, name: str | None, start: Start, passed: OnPassed = lambda position: None
    ) -> AsyncIterator[Event]:
        core = self._caller.core
        async with core.event_signal.waiting(core.storage.database, self._caller.database) as waiter:
            events = follow(
                lambda: self._caller.database, wanted, waiter, consumer=name, start=start, on_passed=passed
            )
            async for event in events:
                yield event

    def _wanted(self, types: Sequence[EventType] | None, owner: str | None) -> EventFilter:
        scope = self._scope.narrowed(owner=owner)
        return EventFilter(scope.owner, check_event_types("types", types))


def subscribe_with_progress(
    events: AsyncEvents, types: Sequence[EventType] | None, owner: str | None, start: Start, passed: OnPassed
) -> AsyncIterator[Event]:
    """`subscribe` for the server's event stream; it also reports progress past events that do not match."""
    return events._follow(events._wanted(types, owner), None, start, passed)
