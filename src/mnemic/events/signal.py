"""Wake the readers that wait for events.

States: *idle* without waiters, *listening* from the first waiter to the last. While listening, commits of
this process wake waiters at once (`Database.on_wakeup`), commits of other processes by NOTIFY, through one
connection that all waiters share. A wakeup can be lost, so waiters also read the log every `POLL_S`.
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
    """Wakes all waiters for the events of a database."""

    def __init__(self) -> None:
        self._waiters: set[asyncio.Event] = set()
        self._unregister: Callable[[], None] | None = None
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def waiting(self, database: Database) -> AsyncIterator["EventWaiter"]:
        """A waiter that is woken until the block ends."""
        woken = asyncio.Event()
        self._waiters.add(woken)
        self._listen(database)
        try:
            yield EventWaiter(woken)
        finally:
            self._waiters.discard(woken)
            if not self._waiters:
                await self._stop()

    def wake(self) -> None:
        """Wake all waiters: there may be new events."""
        for woken in self._waiters:
            woken.set()

    async def aclose(self) -> None:
        """Stop listening and wake all waiters, which then find the memory closed."""
        await self._stop()
        self.wake()

    def _listen(self, database: Database) -> None:
        if self._task is not None:
            return
        self._unregister = database.on_wakeup("events", self.wake)
        listener = Listener(
            database.access,
            [notify_channel("events")],
            on_notify=lambda channel, payload: self.wake(),
            on_ready=self.wake,
        )
        self._task = asyncio.create_task(listener.run(), name="mnemic event listener")

    async def _stop(self) -> None:
        task, self._task = self._task, None
        if self._unregister is not None:
            self._unregister()
            self._unregister = None
        if task is not None:
            await cancel_and_wait(task)


class EventWaiter:
    """Waits for new events."""

    def __init__(self, woken: asyncio.Event) -> None:
        self._woken = woken

    def clear(self) -> None:
        """Forget earlier wakeups; call it before reading the log."""
        self._woken.clear()

    async def wait(self) -> None:
        """Wait for a wakeup, at most `POLL_S`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_S):
                await self._woken.wait()
