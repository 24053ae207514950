"""Background tasks make later calls faster, and no caller waits for them: indexes, statistics, counts.

A call that finds such work requests a task and goes on. At most one asyncio task runs them, one after the
other; it starts with the first request and ends when none is waiting. A background task is identified by its
key:

*unknown* → (request) *waiting* → *running* → (done) *unknown*, or (failed) *backing off* → (`BACKOFF_S`)
*unknown*

Requests for a key that waits, runs or backs off are dropped, and so are requests when the queue is full: the
next call that needs the work requests it again. An error is logged and stored here, and never reaches a
caller. When the memory closes, waiting tasks are dropped, the running one is cancelled, and then the tasks
that must not be lost (`on_close`) run.

All of this belongs to one process and is lost with it. docs/adr/0020-background-tasks-and-jobs.md says why
these are not jobs of the queue in the database.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mnemic.errors import MnemicError

WAITING_MAX = 100
"""Maximum waiting tasks; each is a small object, but so long a queue is not being processed."""
FAILURES_MAX = 1_000
BACKOFF_S = 300.0
"""How long a failed task is not retried: most failures last for a while."""
CLOSE_TIMEOUT_S = 5.0
"""How long closing waits for the cancelled task, and for each task that must not be lost."""

TaskKey = tuple[str, ...]
Work = Callable[[], Awaitable[object]]

logger = logging.getLogger("mnemic.background_tasks")


@dataclass(frozen=True)
class Failure:
    """The error of a task, and when it failed by the monotonic clock."""

    error: Exception
    at_s: float


class BackgroundTasks:
    """The background tasks of one open memory. Not thread-safe: everything happens in its event loop."""

    def __init__(self) -> None:
        self._waiting: dict[TaskKey, Work] = {}
        self._running: TaskKey | None = None
        self._failures: dict[TaskKey, Failure] = {}
        self._on_close: dict[TaskKey, Work] = {}
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def request(self, key: TaskKey, work: Work) -> bool:
        """Run a task soon, unless it waits, runs or failed recently; returns whether it will run."""
        if self._closed or key == self._running or key in self._waiting or self._backs_off(key):
            return False
        if len(self._waiting) >= WAITING_MAX:
            logger.warning("too many background tasks are waiting, dropped: %s", key[0])
            return False
        self._waiting[key] = work
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="mnemic background tasks")
        return True

    def on_close(self, key: TaskKey, work: Work) -> None:
        """Run a task when the memory closes; a later one of the same key replaces it."""
        self._on_close[key] = work

    def failure(self, key: TaskKey) -> Exception | None:
        """The error with which a task failed recently, or None."""
        return self._failures[key].error if self._backs_off(key) else None

    async def settle(self) -> None:
        """Cancel the running task, drop waiting ones, run those of `on_close`; then accept requests again."""
        self._waiting.clear()
        await self._cancel()
        for key, work in self._on_close.items():
            await self._attempt(key, work, timeout_s=CLOSE_TIMEOUT_S)

    async def aclose(self) -> None:
        """Settle, and accept no more requests."""
        if not self._closed:
            self._closed = True
            await self.settle()

    async def _work(self) -> None:
        while self._waiting:
            self._running = next(iter(self._waiting))
            work = self._waiting.pop(self._running)
            try:
                await self._attempt(self._running, work)
            finally:
                self._running = None

    async def _attempt(self, key: TaskKey, work: Work, *, timeout_s: float | None = None) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await work()
            self._failures.pop(key, None)
        # The log gets only the kind of task: the rest of a key may name an owner.
        except MnemicError as error:
            logger.warning("background task failed (%s), not retried for %d s: %s", key[0], BACKOFF_S, error)
            self._remember(key, error)
        except Exception as error:
            logger.exception("background task failed (%s), not retried for %d s", key[0], BACKOFF_S)
            self._remember(key, error)

    async def _cancel(self) -> None:
        if self._task is None or self._task.done():
            return
        self._task.cancel()
        _, unfinished = await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_S)
        if unfinished:
            logger.error("a background task did not end within %d s of being cancelled", CLOSE_TIMEOUT_S)

    def _backs_off(self, key: TaskKey) -> bool:
        failure = self._failures.get(key)
        return failure is not None and time.monotonic() < failure.at_s + BACKOFF_S

    def _remember(self, key: TaskKey, error: Exception) -> None:
        self._failures.pop(key, None)
        if len(self._failures) >= FAILURES_MAX:
            del self._failures[next(iter(self._failures))]
        self._failures[key] = Failure(error, time.monotonic())
