"""Read pages of one tenant's log for several readers.

All readers of a tenant wait for the same lock in the database (`log.sequence`), each with a connection that
others need. So this process reads one page of a tenant at a time. Readers that want the same page share a
read that has not begun: one that has begun may miss events that were committed meanwhile.
"""

import asyncio
from dataclasses import dataclass
from typing import TypeAlias

from mnemic.db.database import TenantDatabase
from mnemic.db.task_cancellation import cancel_and_wait
from mnemic.events.log import EventFilter, Page, read_page

PageKey: TypeAlias = tuple[str | None, tuple[str, ...] | None, int]


@dataclass
class _SharedRead:
    task: asyncio.Task[Page]
    readers: int = 0


class SharedPages:
    """Not thread-safe: everything happens in one event loop."""

    def __init__(self) -> None:
        self._reading = asyncio.Lock()
        self._waiting: dict[PageKey, _SharedRead] = {}

    async def read(self, database: TenantDatabase, event_filter: EventFilter, *, after: int) -> Page:
        """The events after a position, as `read_page` returns them."""
        key = (event_filter.owner, tuple(event_filter.types) if event_filter.types else None, after)
        shared = self._waiting.get(key)
        if shared is None:
            task = asyncio.create_task(self._read(key, database, event_filter), name="mnemic event page")
            shared = self._waiting[key] = _SharedRead(task)
        shared.readers += 1
        try:
            return await asyncio.shield(shared.task)
        finally:
            shared.readers -= 1
            if not shared.readers and not shared.task.done():
                self._forget(key, shared)
                await cancel_and_wait(shared.task)

    async def _read(self, key: PageKey, database: TenantDatabase, event_filter: EventFilter) -> Page:
        async with self._reading:
            self._waiting.pop(key)
            return await read_page(database, event_filter, after=key[2])

    def _forget(self, key: PageKey, shared: _SharedRead) -> None:
        """Let no other reader join a read that is about to be cancelled."""
        if self._waiting.get(key) is shared:
            del self._waiting[key]
