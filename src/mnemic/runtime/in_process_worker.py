"""The worker in the process of a memory, so that embedded use needs no other process.

States: *off* → (`watch`, when the memory opens) *watching* → (there is a job of a known type) *working* →
(`aclose`)
*off*. Watching is free: commits of this process send wakeups for new jobs. Jobs that other processes left
behind are looked for a second after opening, so that a short-lived program is not slowed down. Closing waits
briefly for handlers that are about to end, so that their work is not repeated; the others are cancelled, and
their jobs go back to the queue without counting as attempts.
"""

import asyncio
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from mnemic.db.database import Database, TenantDatabase
from mnemic.db.task_cancellation import cancel_and_wait
from mnemic.db.tenancy import Tenant
from mnemic.errors import InvalidInputError
from mnemic.jobs.handlers import Handler, JsonValue, RunningJob
from mnemic.jobs.queue import check_type
from mnemic.jobs.worker import DEFAULT_CONCURRENCY, Periodic, Worker

LOOK_EVERY_S = 1.0
"""How long after opening, and after adding handlers, earlier jobs are looked for."""
CLOSING_GRACE_S = 0.5
"""How long closing waits for handlers to end by themselves."""


class InProcessWorker:
    """The handlers of one open memory, and the worker that runs them when there are jobs."""

    def __init__(self, handlers: Mapping[str, Handler], periodic: Sequence[Periodic]) -> None:
        self.handlers = dict(handlers)
        self._periodic = tuple(periodic)
        self._worker: Worker | None = None
        self._work: asyncio.Task[None] | None = None
        self._look: asyncio.Task[None] | None = None
        self._unregister: Callable[[], None] | None = None

    def register(self, type: str, function: Callable[[RunningJob], Any]) -> None:
        """Register the handler of a job type: an async function, or a plain one, which runs in a thread."""
        if not callable(function):
            raise InvalidInputError(f"A handler must be a function, not {function!r}.")
        if check_type(type) in self.handlers:
            raise InvalidInputError(f"There is a handler for {type} already; a type has one handler.")
        self.handlers[type] = function if inspect.iscoroutinefunction(function) else in_a_thread(function)

    @property
    def is_watching(self) -> bool:
        """Whether it starts by itself when there is a job."""
        return self._unregister is not None

    def watch(self, database: Database, tenant: Tenant) -> None:
        """Start as soon as there is a job. Calling it twice does nothing."""
        if not self.is_watching:
            self._unregister = database.on_wakeup("jobs", lambda: self._on_wakeup(database, tenant))
            self._look = asyncio.create_task(
                self._look_for_jobs(database, tenant), name="mnemic look for jobs"
            )

    def start(self, database: Database, tenant: Tenant, *, concurrency: int = DEFAULT_CONCURRENCY) -> None:
        """Start working, unless it works already."""
        if self._work is None or self._work.done():
            self._worker = Worker(
                database,
                self.handlers,
                concurrency=concurrency,
                only_tenant=tenant,
                periodic=self._periodic,
            )
            self._work = asyncio.create_task(self._worker.run(), name="mnemic worker")

    async def until_ended(self) -> None:
        """Wait until the worker has ended."""
        if self._work is not None:
            await asyncio.shield(self._work)

    async def aclose(self, *, grace_s: float = CLOSING_GRACE_S) -> None:
        """Stop working and watching; it can be started again."""
        if self._unregister is not None:
            self._unregister()
            self._unregister = None
        if self._look is not None:
            await cancel_and_wait(self._look)
            self._look = None
        if self._worker is not None and self._work is not None:
            self._worker.stop(grace_s=grace_s)
            await asyncio.wait({self._work})
            self._worker = self._work = None

    def _on_wakeup(self, database: Database, tenant: Tenant) -> None:
        self.start(database, tenant)

    async def _look_for_jobs(self, database: Database, tenant: Tenant) -> None:
        looked_for: tuple[str, ...] = ()
        while self._work is None:
            await asyncio.sleep(LOOK_EVERY_S)
            types = tuple(self.handlers)
            if types != looked_for and await _any_waiting(TenantDatabase(database, tenant), types):
                self.start(database, tenant)
            looked_for = types


async def _any_waiting(database: TenantDatabase, types: tuple[str, ...]) -> bool:
    async with database.transaction() as transaction:
        return bool((await transaction.one("queued_jobs.any_waiting", {"types": list(types)}))["any_waiting"])


def in_a_thread(function: Callable[[RunningJob], JsonValue]) -> Handler:
    """A plain function as a handler. A thread cannot be stopped, so the first cancellation waits for its end.

    A second cancellation comes from a worker that has given up, or at program exit, and takes effect at once.
    """

    async def handler(job: RunningJob) -> JsonValue:
        ended: asyncio.Future[JsonValue] = asyncio.get_running_loop().create_future()
        # A daemon thread must not keep a program from ending.
        threading.Thread(target=_call, args=(function, job, ended), name=f"job {job.id}", daemon=True).start()
        with suppress(asyncio.CancelledError):
            return await asyncio.shield(ended)
        return await asyncio.shield(ended)

    return handler


def _call(
    function: Callable[[RunningJob], JsonValue], job: RunningJob, ended: "asyncio.Future[JsonValue]"
) -> None:
    """The body of the thread: passes the result to the loop, which may be closed by then."""
    settle: Callable[[], None]
    try:
        settle = partial(ended.set_result, function(job))
    except (StopIteration, KeyboardInterrupt) as error:
        # A future cannot hold a StopIteration, and in the main thread a KeyboardInterrupt means Ctrl-C.
        settle = partial(ended.set_exception, RuntimeError(f"the handler raised {type(error).__name__}"))
    except BaseException as error:  # noqa: BLE001 — the attempt stores and logs it
        settle = partial(ended.set_exception, error)
    with suppress(RuntimeError):
        ended.get_loop().call_soon_threadsafe(settle)
