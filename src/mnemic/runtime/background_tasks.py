"""Work that makes later calls faster and that no caller waits for: indexes, statistics, counts.

A call that meets something worth doing requests a job and goes on. One task at most does the jobs, one
after the other; it begins with the first request and ends when nothing waits. A job is known by its key:

*unknown* → (request) *waiting* → *running* → (done) *unknown*, or (failed) *resting* → (`REST_S`) *unknown*

Requests for a key that waits, runs or rests are dropped, and so are those that find the queue full: whoever
needs the work will ask again. An error of a job is logged and remembered here, and never reaches a caller.
When the memory closes, what waits is forgotten, what runs is cancelled, and then the jobs that must not be
lost (`on_close`) are done.

All of this lives in one process and is forgotten with it. A later version will move these jobs to the queue
in the database, where several processes share them.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mnemic.errors import MnemicError

WAITING_MAX = 100
"""Jobs that wait at most; each is a small object, but a queue that long is not being worked off."""
RESTING_MAX = 1_000
REST_S = 300.0
"""How long a job that failed is not tried again: most failures are there to stay for a while."""
CLOSE_TIMEOUT_S = 5.0
"""How long closing waits for the job that was cancelled, and for each job that must not be lost."""

JobKey = tuple[str, ...]
Job = Callable[[], Awaitable[object]]

logger = logging.getLogger("mnemic.background_tasks")


@dataclass(frozen=True)
class Failure:
    """What went wrong with a job, and when by the monotonic clock."""

    error: Exception
    at_s: float


class BackgroundTasks:
    """The jobs of one open memory. Not for several threads: everything happens in its event loop."""

    def __init__(self) -> None:
        self._waiting: dict[JobKey, Job] = {}
        self._running: JobKey | None = None
        self._resting: dict[JobKey, Failure] = {}
        self._on_close: dict[JobKey, Job] = {}
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def request(self, key: JobKey, job: Job) -> bool:
        """Have a job done soon, unless it is under way or failed lately; returns whether it will be."""
        if self._closed or key == self._running or key in self._waiting or self._rests(key):
            return False
        if len(self._waiting) >= WAITING_MAX:
            logger.warning("too much upkeep is waiting, not done: %s", key[0])
            return False
        self._waiting[key] = job
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="mnemic upkeep")
        return True

    def on_close(self, key: JobKey, job: Job) -> None:
        """Have a job done when the memory closes; a later one of the same key takes its place."""
        self._on_close[key] = job

    def failure(self, key: JobKey) -> Exception | None:
        """The error with which a job ended lately, or None."""
        return self._resting[key].error if self._rests(key) else None

    async def settle(self) -> None:
        """Stop what runs, forget what waits, and do what must not be lost; requests begin anew afterwards."""
        self._waiting.clear()
        await self._cancel()
        for key, job in self._on_close.items():
            await self._attempt(key, job, timeout_s=CLOSE_TIMEOUT_S)

    async def aclose(self) -> None:
        """Settle, once and for all."""
        if not self._closed:
            self._closed = True
            await self.settle()

    async def _work(self) -> None:
        while self._waiting:
            self._running = next(iter(self._waiting))
            job = self._waiting.pop(self._running)
            try:
                await self._attempt(self._running, job)
            finally:
                self._running = None

    async def _attempt(self, key: JobKey, job: Job, *, timeout_s: float | None = None) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await job()
            self._resting.pop(key, None)
        # The log gets only the kind of job: the rest of a key names somebody.
        except MnemicError as error:
            logger.warning("upkeep failed (%s), it is not tried again for %d s: %s", key[0], REST_S, error)
            self._remember(key, error)
        except Exception as error:
            logger.exception("upkeep failed (%s), it is not tried again for %d s", key[0], REST_S)
            self._remember(key, error)

    async def _cancel(self) -> None:
        if self._task is None or self._task.done():
            return
        self._task.cancel()
        _, unfinished = await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_S)
        if unfinished:
            logger.error("upkeep did not end within %d s of being cancelled", CLOSE_TIMEOUT_S)

    def _rests(self, key: JobKey) -> bool:
        failure = self._resting.get(key)
        return failure is not None and time.monotonic() < failure.at_s + REST_S

    def _remember(self, key: JobKey, error: Exception) -> None:
        self._resting.pop(key, None)
        if len(self._resting) >= RESTING_MAX:
            del self._resting[next(iter(self._resting))]
        self._resting[key] = Failure(error, time.monotonic())
