"""Waking those who wait for events.

States: *idle* while nobody waits, *listening* from the first waiter to the last. While listening, commits of
this process wake at once (`Database.on_wakeup`), those of other processes by NOTIFY, through one connection
that all waiters share. A signal may be lost: whoever waits looks into the log every `POLL_S` anyway.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from mnemic.db.database import Database
from mnemic.db.listen import Listener
from mnemic.db.task_cancellation import cancel_and_wait
from mnemic.db.wakeups import notify_channel

POLL_S = 1.0


class EventSignal:
    """Wakes everybody who waits for events of a database."""

    def __init__(self) -> None:
        self._waiters: set[asyncio.Event] = set()
        self._end: Callable[[], None] | None = None
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def waiting(self, database: Database) -> AsyncIterator["Waiter"]:
        """Be woken from here on, until the block ends."""
        woken = asyncio.Event()
        self._waiters.add(woken)
        self._begin(database)
        try:
            yield Waiter(woken)
        finally:
            self._waiters.discard(woken)
            if not self._waiters:
                await self._stop()

    def wake(self) -> None:
        """There may be something new."""
        for woken in self._waiters:
            woken.set()

    async def aclose(self) -> None:
        """Stop listening, and let everybody look who waits: the memory is being closed."""
        await self._stop()
        self.wake()

    def _begin(self, database: Database) -> None:
        if self._task is not None:
            return
        self._end = database.on_wakeup("events", self.wake)
        listener = Listener(
            database.access,
            [notify_channel("events")],
            on_notify=lambda channel, payload: self.wake(),
            on_ready=self.wake,
        )
        self._task = asyncio.create_task(listener.run(), name="mnemic event listener")

    async def _stop(self) -> None:
        task, self._task = self._task, None
        if self._end is not None:
            self._end()
            self._end = None
        if task is not None:
            await cancel_and_wait(task)


class Waiter:
    """One who waits."""

    def __init__(self, woken: asyncio.Event) -> None:
        self._woken = woken

    def forget(self) -> None:
        """Whatever was signalled until now is about to be read."""
        self._woken.clear()

    async def wait(self) -> None:
        """Until there may be something new."""
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_S):
                await self._woken.wait()
