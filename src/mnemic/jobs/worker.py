"""The worker: claims jobs, runs their handlers, and settles the outcomes in the database.

It knows nothing about memories; handlers are passed in by type. States: *new* → *working* → (`stop`)
*stopping* →
*ended*.

One loop does all settling and claiming. Each cycle is one statement on a dedicated connection: it settles the
attempts that have ended, and claims as many jobs as there are free slots, so that under load one round trip
and one commit serve many jobs. While jobs run, the worker also reconciles about once a second: it reads which
jobs the database says it holds and which of them should be cancelled, and writes progress. That comes after
the cycle, so that a new job does not wait for it. Between cycles the loop waits until a handler ends, a
wakeup arrives (from this process directly, from others by NOTIFY), or the next second begins, since wakeups
can be lost.

Around the loop run, each in a task of its own:

* the *heartbeat*, in a thread, shows that the worker is alive (`heartbeat.py`);
* *fencing* cancels all handlers when no heartbeat has succeeded for so long that other workers may soon
  declare
  this one dead: the same job must not run twice at once;
* *recovery* finds dead workers (`failure_detector.py`) and requeues their jobs;
* *promotion* makes scheduled jobs waiting when they are due, which leaves a wakeup;
* `periodic` functions, such as the scheduler, are called every second.

A cycle that failed may still have been committed. So before the next one the worker reconciles: it hands back
jobs that it does not know, and cancels handlers of jobs that it no longer holds.

Stopping: the worker claims nothing more; handlers have `grace_s` to end, then they are cancelled, and their
jobs are handed back without counting as attempts. The job of a handler that ignores its cancellation stays
claimed until this process is gone and other workers requeue it.
"""

import asyncio
import json
import logging
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from mnemic.db.connection import Row
from mnemic.db.database import Database, Queries
from mnemic.db.listen import Listener
from mnemic.db.task_cancellation import cancel_and_wait
from mnemic.db.tenancy import Tenant
from mnemic.db.wakeups import notify_channel
from mnemic.errors import MnemicError
from mnemic.jobs.failure_detector import FailureDetector, WorkerStatus
from mnemic.jobs.handlers import Handler
from mnemic.jobs.heartbeat import QUEUE, Heartbeat
from mnemic.jobs.job_run import Claim, JobRun

DEFAULT_CONCURRENCY = 10
CONCURRENCY_MAX = 1_000
POLL_S = 1.0
"""How long a job waits at most when its wakeup was lost."""
RECONCILE_EVERY_S = 1.0
"""How often a worker with running jobs reads which ones it should cancel, and writes their progress."""
PROMOTE_MIN_S = 0.1
"""Minimum time between two searches for due jobs, however many wakeups come."""
PROMOTE_MAX = 1_000
"""Maximum scheduled jobs of one tenant that one statement promotes."""
RECOVER_EVERY_S = 2.0
UNKNOWN_TYPE_CHECK_EVERY_S = 60.0
UNKNOWN_TYPE_JOBS_MAX = 1_000
UNKNOWN_TYPE_LIMIT_S = 24 * 3600.0
"""How long a job whose type no worker knows waits before it becomes a dead letter."""
FENCE_AFTER_S = 12.0
"""Time without a heartbeat after which a worker cancels its handlers: less than `DEAD_AFTER_S`."""
FENCE_EVERY_S = 0.5
RETRY_S = 0.5
CANCEL_TIMEOUT_S = 5.0
"""How long stopping waits for cancelled handlers."""
DEFAULT_GRACE_S = 30.0
TENANT_NAMES_MAX = 10_000

Periodic = Callable[[Database], Awaitable[object]]

logger = logging.getLogger("mnemic.worker")


class Worker:
    """Runs up to `concurrency` jobs at a time, of all tenants or of one."""

    def __init__(
        self,
        database: Database,
        handlers: Mapping[str, Handler],
        *,
        concurrency: int = DEFAULT_CONCURRENCY,
        only_tenant: Tenant | None = None,
        periodic: Sequence[Periodic] = (),
    ) -> None:
        self.name = f"{socket.gethostname()[:200]}:{os.getpid()}:{secrets.token_hex(3)}"
        self._database = database
        self._handlers = handlers
        self._concurrency = concurrency
        self._only_tenant = only_tenant
        self._periodic = tuple(periodic)
        self._connection = database.dedicated_connection("claim jobs", QUEUE)
        self._heartbeat = Heartbeat(database.access, self.name, lambda: tuple(handlers))
        self._failure_detector = FailureDetector()
        self._running: dict[tuple[UUID, int], JobRun] = {}
        self._ended: list[JobRun] = []
        self._unknown_claims: list[dict[str, Any]] = []
        self._tenants: dict[UUID, Tenant] = {}
        self._last_tenant_id: UUID | None = None
        self._activity = asyncio.Event()
        self._needs_reconciling = False
        self._is_woken = asyncio.Event()
        self._due_in_s = 0.0
        self._reconciled_at_s = 0.0
        self._unknown_types_checked_at_s = 0.0
        self._stop_by_s: float | None = None
        self._is_ready = asyncio.Event()
        self._is_over = False

    async def run(self) -> None:
        """Work until `stop` is called. Cancelling this instead has the effect of killing the process."""
        unregister = self._database.on_wakeup("jobs", self._on_wakeup)
        try:
            await self._register_when_reachable()
            self._heartbeat.start()
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(work) for work in self._side_tasks()]
                try:
                    await self._run_cycles()
                finally:
                    # Ends tasks that lose their cancellation (see `task_cancellation.py`) at program exit.
                    self._is_over = True
                await cancel_and_wait(*tasks)
            await self._deregister()
        finally:
            unregister()
            await self._connection.aclose()
            for attempt in self._running.values():
                attempt.abandon()
            await asyncio.to_thread(self._heartbeat.stop)

    def stop(self, *, grace_s: float = DEFAULT_GRACE_S) -> None:
        """Claim nothing more, and end when all handlers have ended; after `grace_s` they are cancelled."""
        stop_by_s = time.monotonic() + grace_s
        self._stop_by_s = stop_by_s if self._stop_by_s is None else min(stop_by_s, self._stop_by_s)
        self._activity.set()

    @property
    def is_stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stop_by_s is not None

    async def ready(self) -> None:
        """Wait until the worker is registered and about to claim its first jobs."""
        await self._is_ready.wait()

    def _side_tasks(self) -> list[Any]:
        listener = Listener(
            self._database.access,
            [notify_channel("jobs")],
            on_notify=lambda channel, payload: self._on_wakeup(),
            on_ready=self._on_wakeup,
        )
        tasks = [listener.run(), self._fence(), self._recover_periodically(), self._promote_periodically()]
        return [*tasks, *map(self._repeat, self._periodic)]

    def _on_wakeup(self) -> None:
        self._is_woken.set()
        self._activity.set()

    async def _register_when_reachable(self) -> None:
        """Register, retrying until the database can be reached."""
        while self._stop_by_s is None:
            try:
                async with self._database.privileged_transaction("working", QUEUE) as queries:
                    await self._register(queries)
                break
            except MnemicError as error:
                logger.warning("the worker cannot register yet, retrying: %s", error)
                await asyncio.sleep(RETRY_S)
        self._is_ready.set()

    async def _register(self, queries: Queries) -> None:
        await queries.execute("workers.register", {"worker": self.name, "types": list(self._handlers)})

    async def _run_cycles(self) -> None:
        while not self._is_finished():
            try:
                await self._cycle()
            except MnemicError as error:
                logger.warning("the worker lost the database, retrying: %s", error)
                self._needs_reconciling = True
                await asyncio.sleep(RETRY_S)
            else:
                await self._wait_for_activity()
            self._cancel_after_grace()

    def _is_finished(self) -> bool:
        if self._stop_by_s is None:
            return False
        is_over = time.monotonic() > self._stop_by_s + CANCEL_TIMEOUT_S
        return is_over or not (self._running or self._ended or self._unknown_claims)

    def _cancel_after_grace(self) -> None:
        if self._stop_by_s is not None and time.monotonic() >= self._stop_by_s:
            for attempt in self._running.values():
                attempt.cancel("stopping")

    async def _wait_for_activity(self) -> None:
        if not self._activity.is_set():
            now_s = time.monotonic()
            moment_s = now_s + POLL_S
            if self._stop_by_s is not None:
                moment_s = min(moment_s, max(self._stop_by_s, now_s + RETRY_S))
            if self._running:
                moment_s = min(moment_s, self._reconciled_at_s + RECONCILE_EVERY_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(max(moment_s - now_s, 0)):
                    await self._activity.wait()
        self._activity.clear()

    async def _cycle(self) -> None:
        """Settle what has ended and start what is claimed; then reconcile if that is due."""
        if self._needs_reconciling or self._heartbeat.is_removed:
            await self._reconcile_if_due()
        ended, self._ended = self._ended, []
        unknown, self._unknown_claims = self._unknown_claims, []
        try:
            outcomes = [*unknown, *(attempt.settlement() for attempt in ended)]
            claimed = await self._claimed(await self._settle_and_claim(outcomes))
        except BaseException:
            # Settling twice does no harm: a settled job is no longer held.
            self._ended = ended + self._ended
            self._unknown_claims = unknown + self._unknown_claims
            raise
        for attempt in claimed:
            self._running[attempt.key] = attempt
            # In no task group: a handler that cannot be stopped must not keep the worker from ending.
            attempt.task = asyncio.create_task(attempt.run(self._handlers[attempt.job.type]))
            attempt.task.add_done_callback(partial(self._on_end, attempt))
        await self._reconcile_if_due()

    def _on_end(self, attempt: JobRun, _: "asyncio.Task[None]") -> None:
        del self._running[attempt.key]
        if attempt.finish():
            self._ended.append(attempt)
        self._activity.set()

    async def _reconcile_if_due(self) -> None:
        """Reconcile once a second while jobs run, and whenever the database may know something else."""
        is_due = bool(self._running) and time.monotonic() >= self._reconciled_at_s + RECONCILE_EVERY_S
        if not (is_due or self._needs_reconciling or self._heartbeat.is_removed):
            return
        async with self._database.privileged_transaction("working", QUEUE) as queries:
            await self._reconcile(queries)
            await self._register_again(queries)
        if self._unknown_claims:
            self._activity.set()

    async def _settle_and_claim(self, outcomes: list[dict[str, Any]]) -> list[Claim]:
        """Settle outcomes and claim jobs in one statement."""
        slots = self._free_slots()
        if not (outcomes or slots):
            return []
        parameters = {
            **self._tenant_filter(),
            "worker": self.name,
            "outcomes": _as_json(outcomes),
            "types": list(self._handlers),
            "slots": slots,
            "after_tenant": self._last_tenant_id,
        }
        rows = await self._connection.rows("workers.settle_and_claim", parameters)
        if outcomes:
            self._database.wake_process("finished_jobs")
        return [Claim._make(row) for row in rows]

    def _free_slots(self) -> int:
        """Number of jobs that may be claimed now."""
        is_silent = self._heartbeat.silent_s > FENCE_AFTER_S
        if self._stop_by_s is not None or not self._handlers or is_silent:
            return 0
        return max(self._concurrency - len(self._running), 0)

    async def _claimed(self, claims: Sequence[Claim]) -> list[JobRun]:
        if not claims:
            return []
        self._last_tenant_id = claims[-1].tenant_id
        await self._read_tenant_names(claims)
        return [JobRun.claimed(claim, self._tenants[claim.tenant_id]) for claim in claims]

    async def _read_tenant_names(self, claims: Sequence[Claim]) -> None:
        if len(self._tenants) > TENANT_NAMES_MAX:
            self._tenants.clear()
        unknown = {claim.tenant_id for claim in claims} - self._tenants.keys()
        if unknown:
            async with self._database.privileged_transaction("working", QUEUE) as queries:
                named = await queries.rows("workers.tenant_names", {"tenant_ids": list(unknown)})
            self._tenants |= {row["tenant_id"]: Tenant(row["tenant_id"], row["name"]) for row in named}

    def _tenant_filter(self) -> dict[str, Any]:
        return {"only_tenant": self._only_tenant.id if self._only_tenant is not None else None}

    async def _reconcile(self, queries: Queries) -> None:
        """Write progress, and compare the jobs that the database says we hold with those that run here."""
        self._reconciled_at_s = time.monotonic()
        self._needs_reconciling = False
        await self._write_progress(queries)
        held = {
            (row["job_id"], row["claim"]): row
            for row in await queries.rows("workers.claimed_jobs", {"worker": self.name})
        }
        for key, attempt in self._running.items():
            if key not in held:
                attempt.cancel("lost")
            elif held[key]["cancel_requested"]:
                attempt.cancel("cancelled")
        # Some handlers have ended while the query ran.
        known = self._running.keys() | {attempt.key for attempt in self._ended}
        self._unknown_claims = [_handed_back(row) for key, row in held.items() if key not in known]

    async def _register_again(self, queries: Queries) -> None:
        """Register again after being declared dead, but not while the handler of a lost job still runs.

        Unregistered workers get no jobs, so a lost job is not run here a second time beside its old handler.
        """
        if not self._heartbeat.is_removed or any(each.reason == "lost" for each in self._running.values()):
            return
        await self._register(queries)
        self._heartbeat.is_removed = False

    async def _write_progress(self, queries: Queries) -> None:
        reporting = [attempt for attempt in self._running.values() if attempt.job.has_new_progress]
        if not reporting:
            return
        for attempt in reporting:
            attempt.job.has_new_progress = False
        reports = _as_json([attempt.report() for attempt in reporting])
        await queries.execute("workers.record_progress", {"worker": self.name, "reports": reports})

    async def _fence(self) -> None:
        while not self._is_over:
            await asyncio.sleep(FENCE_EVERY_S)
            if self._heartbeat.silent_s > FENCE_AFTER_S and self._running:
                logger.error("no heartbeat for %.0f s: cancelling all handlers", self._heartbeat.silent_s)
                for attempt in self._running.values():
                    attempt.cancel("stopping")

    async def _recover_periodically(self) -> None:
        while not self._is_over:
            await self._run_periodic(self._recover)
            await asyncio.sleep(RECOVER_EVERY_S)

    async def _recover(self, database: Database) -> None:
        """Requeue jobs of dead workers; once a minute, make dead letters of jobs of unknown types."""
        async with database.privileged_transaction("working", QUEUE) as queries:
            rows = await queries.rows("workers.list")
            statuses = [WorkerStatus(row["worker"], row["beats"], row["silent_s"]) for row in rows]
            for dead in self._failure_detector.find_dead(statuses):
                logger.warning("the worker %s is dead", dead.worker)
                await queries.one("workers.remove", {"worker": dead.worker, "beats": dead.beats})
            requeued = (await queries.one("workers.requeue_jobs_of_dead_workers"))["requeued"]
            if requeued:
                logger.warning("requeued %d jobs of dead workers", requeued)
            if time.monotonic() >= self._unknown_types_checked_at_s + UNKNOWN_TYPE_CHECK_EVERY_S:
                self._unknown_types_checked_at_s = time.monotonic()
                limits = {"waited_max_s": UNKNOWN_TYPE_LIMIT_S, "most": UNKNOWN_TYPE_JOBS_MAX}
                await queries.one("workers.dead_letter_unknown", limits)

    async def _promote_periodically(self) -> None:
        """Promote due jobs when the next one is due, and after a wakeup."""
        while not (self._is_over or self.is_stopping):
            self._is_woken.clear()
            self._due_in_s = POLL_S
            await self._run_periodic(self._promote_due)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._due_in_s):
                    await self._is_woken.wait()
                    await asyncio.sleep(PROMOTE_MIN_S)

    async def _promote_due(self, database: Database) -> None:
        """Promote due jobs to waiting."""
        async with database.privileged_transaction("working", QUEUE) as queries:
            row = await queries.one("workers.promote", {**self._tenant_filter(), "most": PROMOTE_MAX})
        if row["next_due_s"] is not None:
            self._due_in_s = min(max(row["next_due_s"], PROMOTE_MIN_S), POLL_S)

    async def _repeat(self, periodic: Periodic) -> None:
        while not self._is_over:
            await self._run_periodic(periodic)
            await asyncio.sleep(POLL_S)

    async def _run_periodic(self, work: Periodic) -> None:
        """Run a periodic task; a failure is logged and does not end the repetition."""
        try:
            await work(self._database)
        except MnemicError as error:
            logger.warning("periodic task failed: %s", error)
        except Exception:
            logger.exception("periodic task failed")

    async def _deregister(self) -> None:
        """Deregister, unless a handler that ignores its cancellation still runs: its job stays claimed."""
        if self._running or self._ended or self._unknown_claims:
            return
        try:
            async with self._database.privileged_transaction("working", QUEUE) as queries:
                await queries.one("workers.remove", {"worker": self.name, "beats": None})
        except MnemicError as error:
            logger.warning("the worker could not deregister: %s", error)


def _handed_back(row: Row) -> dict[str, Any]:
    return {
        "tenant_id": str(row["tenant_id"]),
        "job_id": str(row["job_id"]),
        "claim": row["claim"],
        "outcome": "handed_back",
    }


def _as_json(value: list[dict[str, Any]]) -> Jsonb:
    return Jsonb(value, dumps=lambda plain: json.dumps(plain, ensure_ascii=False))
