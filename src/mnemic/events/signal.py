"""Wake the readers that wait for events.

States: *idle* without waiters, *listening* from the first waiter to the last. While listening, commits of
this process wake it at once (`Database.on_wakeup`), commits of other processes by NOTIFY, through one
connection that all waiters share. A wakeup can be lost, so the log is also polled every `POLL_S`.

A wakeup does not say which tenant wrote, and one tenant may have many readers. So each tenant with readers
has one *watcher*, which reads the newest position of the tenant's log after a wakeup. Only readers that have
not reached that position are woken. An idle reader costs nothing, however many others write.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from uuid import UUID

from mnemic.db.database import Database, TenantDatabase
from mnemic.db.listen import Listener
from mnemic.db.task_cancellation import cancel_and_wait
from mnemic.db.wakeups import notify_channel
from mnemic.errors import MnemicError
from mnemic.events.log import newest_position
from mnemic.events.shared_pages import SharedPages

POLL_S = 1.0
WATCH_INTERVAL_S = 0.05
"""Minimum time between two reads of a tenant's newest position: wakeups in between are combined."""


class EventSignal:
    """Wakes waiters for the events of a database."""

    def __init__(self) -> None:
        self._watchers: dict[UUID, _Watcher] = {}
        self._unregister: Callable[[], None] | None = None
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def waiting(self, database: Database, tenant: TenantDatabase) -> AsyncIterator["EventWaiter"]:
        """A waiter for events of a tenant, which is woken until the block ends."""
        watcher = self._watchers.setdefault(tenant.tenant.id, _Watcher(tenant))
        waiter = EventWaiter(watcher)
        watcher.waiters.add(waiter)
        self._listen(database)
        try:
            yield waiter
        finally:
            watcher.waiters.discard(waiter)
            if not watcher.waiters:
                self._watchers.pop(tenant.tenant.id, None)
                await watcher.aclose()
            if not self._watchers:
                await self._stop()

    def wake(self) -> None:
        """Look for new events: some tenant may have written some."""
        for watcher in self._watchers.values():
            watcher.woken.set()

    async def aclose(self) -> None:
        """Stop listening and wake all waiters, which then find the memory closed."""
        await self._stop()
        for watcher in tuple(self._watchers.values()):
            await watcher.aclose()
            watcher.wake_after_failure()

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


class _Watcher:
    """Reads the newest position of a tenant's log for all its waiters, from the first wait on."""

    def __init__(self, database: TenantDatabase) -> None:
        self.waiters: set[EventWaiter] = set()
        self.woken = asyncio.Event()
        self.pages = SharedPages()
        self.newest = 0
        self.has_failed = False
        self._database = database
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Watch, unless it does already."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch(), name="mnemic event watcher")

    def wake_after_failure(self) -> None:
        """Wake all waiters, which read the log themselves and meet the error, if there still is one."""
        self.has_failed = True
        self._wake_waiters()

    async def aclose(self) -> None:
        """Stop watching."""
        task, self._task = self._task, None
        if task is not None:
            await cancel_and_wait(task)

    async def _watch(self) -> None:
        task = asyncio.current_task()
        # psycopg may swallow a cancellation (db/task_cancellation.py); the count of requests stays.
        while task is not None and not task.cancelling():
            self.woken.clear()
            await self._read_newest()
            await asyncio.sleep(WATCH_INTERVAL_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await self.woken.wait()

    async def _read_newest(self) -> None:
        try:
            async with self._database.transaction() as transaction:
                newest = await newest_position(transaction)
        except MnemicError:
            self.wake_after_failure()
            return
        self.has_failed = False
        if newest != self.newest:
            self.newest = newest
            self._wake_waiters()

    def _wake_waiters(self) -> None:
        for waiter in self.waiters:
            waiter.wake()


class EventWaiter:
    """Waits for new events of one tenant."""

    def __init__(self, watcher: _Watcher) -> None:
        self._watcher = watcher
        self._woken = asyncio.Event()

    @property
    def pages(self) -> SharedPages:
        """Reads pages of the tenant's log, together with its other readers."""
        return self._watcher.pages

    def wake(self) -> None:
        """The log may have grown."""
        self._woken.set()

    def clear(self) -> None:
        """Forget earlier wakeups; call it before reading the log."""
        self._woken.clear()

    async def wait(self, position: int) -> None:
        """Wait until there are events after a position, or until the log cannot be watched."""
        self._watcher.start()
        await self._woken.wait()
        while self._watcher.newest <= position and not self._watcher.has_failed:
            self._woken.clear()
            await self._woken.wait()
