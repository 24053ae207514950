"""The worker: claims jobs, runs their handlers, and tells the database how that ended.

It knows nothing about memory; handlers are passed in by type. States: *new* → *working* → (`stop`)
*stopping* → *ended*. Everything that it tells the database goes through one loop of *turns*. A turn is one
statement, on a connection of its own: it ends the attempts that have ended, and claims as many jobs as there
are free slots, so that under load one round trip and one commit serve many jobs. While jobs run, a look
around follows it about once a second: which of them should be cancelled, how far they have come. It comes
after the turn, so that a new job does not wait for it. Between turns the loop waits for news: a handler that
ended, a hint that there are jobs (from this process at once, from others by NOTIFY), or the next second,
since hints can be lost.

Around the loop, each in a task of its own:

* the *heartbeat*, in a thread, tells that the worker lives (`heartbeat.py`);
* the *guard* stops all handlers when the heartbeat has not got through for so long that others may soon
  take the worker for dead: the same job must not run twice at once;
* *housekeeping* finds workers that died, and frees their jobs (`failure_detector.py`);
* *promotion* lets scheduled jobs wait when their time comes, which leaves a hint;
* `periodic` functions, such as the scheduler, are called every second.

A turn that failed may have been committed all the same. So before the next one the worker looks around and
compares what the database says that it holds with what it knows: what it does not know it hands back, what
is not its own any more it stops.

Stopping: no more claims; handlers have `grace_s` to end, then they are cancelled, and their jobs handed
back without counting as attempts. What ignores its cancellation is left to the others, who find it when
this process is gone.
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
from mnemic.jobs.attempt import Attempt, Claim
from mnemic.jobs.failure_detector import Sign, Witness
from mnemic.jobs.handlers import Handler
from mnemic.jobs.heartbeat import WORKING, Heartbeat

DEFAULT_CONCURRENCY = 10
CONCURRENCY_MAX = 1_000
POLL_S = 1.0
"""How long a job waits at most when its hint was lost."""
WATCH_EVERY_S = 1.0
"""How often a worker with running jobs asks which ones it should cancel, and writes their progress."""
PROMOTE_MIN_S = 0.1
"""Scheduled jobs are looked for at most this often, however many hints come."""
PROMOTE_MAX = 1_000
"""Scheduled jobs of one tenant that begin to wait in one turn."""
HOUSEKEEPING_EVERY_S = 2.0
BURY_EVERY_S = 60.0
BURY_MAX = 1_000
UNKNOWN_TYPE_LIMIT_S = 24 * 3600.0
"""How long a job of a type that no worker knows waits for one that does."""
FENCE_AFTER_S = 12.0
"""Silence after which a worker stops its handlers: less than `witness.DEAD_AFTER_S`, with time to do it."""
GUARD_EVERY_S = 0.5
RETRY_S = 0.5
CANCEL_TIMEOUT_S = 5.0
"""How long stopping waits for handlers that were cancelled."""
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
        self._line = database.dedicated_connection("turn", WORKING)
        self._heartbeat = Heartbeat(database.access, self.name, lambda: tuple(handlers))
        self._witness = Witness()
        self._running: dict[tuple[UUID, int], Attempt] = {}
        self._ended: list[Attempt] = []
        self._strange: list[dict[str, Any]] = []
        self._tenants: dict[UUID, Tenant] = {}
        self._served_last: UUID | None = None
        self._news = asyncio.Event()
        self._is_uncertain = False
        self._is_hinted = asyncio.Event()
        self._due_in_s = 0.0
        self._watched_at_s = 0.0
        self._buried_at_s = 0.0
        self._stop_by_s: float | None = None
        self._is_ready = asyncio.Event()
        self._is_over = False

    async def run(self) -> None:
        """Work until `stop` is called. Being cancelled instead is as if the process had been killed."""
        unregister = self._database.on_wakeup("jobs", self._on_wakeup)
        try:
            await self._announce()
            self._heartbeat.start()
            async with asyncio.TaskGroup() as group:
                helpers = [group.create_task(work) for work in self._helpers()]
                try:
                    await self._take_turns()
                finally:
                    # For helpers whose cancellation gets lost (see `ending.py`) when the program itself ends.
                    self._is_over = True
                await cancel_and_wait(*helpers)
            await self._leave()
        finally:
            unregister()
            await self._line.aclose()
            for attempt in self._running.values():
                attempt.abandon()
            await asyncio.to_thread(self._heartbeat.stop)

    def stop(self, *, grace_s: float = DEFAULT_GRACE_S) -> None:
        """Claim nothing more, and end when the handlers have, or after `grace_s` by cancelling them."""
        stop_by_s = time.monotonic() + grace_s
        self._stop_by_s = stop_by_s if self._stop_by_s is None else min(stop_by_s, self._stop_by_s)
        self._news.set()

    @property
    def is_stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stop_by_s is not None

    async def ready(self) -> None:
        """Wait until the worker has announced itself and is about to claim its first jobs."""
        await self._is_ready.wait()

    def _helpers(self) -> list[Any]:
        listener = Listener(
            self._database.access,
            [notify_channel("jobs")],
            on_notify=lambda channel, payload: self._on_wakeup(),
            on_ready=self._on_wakeup,
        )
        helpers = [listener.run(), self._guard(), self._keep_house(), self._promote()]
        return [*helpers, *map(self._repeat, self._periodic)]

    def _on_wakeup(self) -> None:
        self._is_hinted.set()
        self._news.set()

    async def _announce(self) -> None:
        """Get on the list of workers, however long it takes until the database is there."""
        while self._stop_by_s is None:
            try:
                async with self._database.proven("working", WORKING) as queries:
                    await self._join(queries)
                break
            except MnemicError as error:
                logger.warning("the worker cannot begin yet: %s", error)
                await asyncio.sleep(RETRY_S)
        self._is_ready.set()

    async def _join(self, queries: Queries) -> None:
        await queries.execute("workers.join", {"worker": self.name, "types": list(self._handlers)})

    async def _take_turns(self) -> None:
        while not self._is_finished():
            try:
                await self._turn()
            except MnemicError as error:
                logger.warning("the worker lost the database, trying again: %s", error)
                self._is_uncertain = True
                await asyncio.sleep(RETRY_S)
            else:
                await self._wait_for_news()
            self._stop_what_is_late()

    def _is_finished(self) -> bool:
        if self._stop_by_s is None:
            return False
        is_over = time.monotonic() > self._stop_by_s + CANCEL_TIMEOUT_S
        return is_over or not (self._running or self._ended or self._strange)

    def _stop_what_is_late(self) -> None:
        if self._stop_by_s is not None and time.monotonic() >= self._stop_by_s:
            for attempt in self._running.values():
                attempt.cancel("stopping")

    async def _wait_for_news(self) -> None:
        if not self._news.is_set():
            now_s = time.monotonic()
            moment_s = now_s + POLL_S
            if self._stop_by_s is not None:
                moment_s = min(moment_s, max(self._stop_by_s, now_s + RETRY_S))
            if self._running:
                moment_s = min(moment_s, self._watched_at_s + WATCH_EVERY_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(max(moment_s - now_s, 0)):
                    await self._news.wait()
        self._news.clear()

    async def _turn(self) -> None:
        """What has ended, and what comes next; then, now and then, what was asked for meanwhile."""
        if self._is_uncertain or self._heartbeat.is_struck:
            await self._look_around()
        ended, self._ended = self._ended, []
        strange, self._strange = self._strange, []
        try:
            outcomes = [*strange, *(attempt.settlement() for attempt in ended)]
            claimed = await self._claimed(await self._settle_and_claim(outcomes))
        except BaseException:
            # Telling it twice does no harm: what was settled is not held any more.
            self._ended = ended + self._ended
            self._strange = strange + self._strange
            raise
        for attempt in claimed:
            self._running[attempt.key] = attempt
            # In no group: one that cannot be stopped must not keep the worker from ending.
            attempt.task = asyncio.create_task(attempt.run(self._handlers[attempt.job.type]))
            attempt.task.add_done_callback(partial(self._on_end, attempt))
        await self._look_around()

    def _on_end(self, attempt: Attempt, _: "asyncio.Task[None]") -> None:
        del self._running[attempt.key]
        if attempt.end():
            self._ended.append(attempt)
        self._news.set()

    async def _look_around(self) -> None:
        """Watch what runs, now and then or in doubt; what may have come of it is news for the next turn."""
        is_time = bool(self._running) and time.monotonic() >= self._watched_at_s + WATCH_EVERY_S
        if not (is_time or self._is_uncertain or self._heartbeat.is_struck):
            return
        async with self._database.proven("working", WORKING) as queries:
            await self._watch(queries)
            await self._rejoin(queries)
        if self._strange:
            self._news.set()

    async def _settle_and_claim(self, outcomes: list[dict[str, Any]]) -> list[Claim]:
        """Both in one statement: what has ended makes room for what comes next."""
        slots = self._free_slots()
        if not (outcomes or slots):
            return []
        parameters = {
            **self._tenant_filter(),
            "worker": self.name,
            "outcomes": _as_json(outcomes),
            "types": list(self._handlers),
            "slots": slots,
            "after_tenant": self._served_last,
        }
        rows = await self._line.rows("workers.turn", parameters)
        if outcomes:
            self._database.wake_process("finished_jobs")
        return [Claim._make(row) for row in rows]

    def _free_slots(self) -> int:
        """How many jobs may be claimed now."""
        is_mute = self._heartbeat.silent_s > FENCE_AFTER_S
        if self._stop_by_s is not None or not self._handlers or is_mute:
            return 0
        return max(self._concurrency - len(self._running), 0)

    async def _claimed(self, claims: Sequence[Claim]) -> list[Attempt]:
        if not claims:
            return []
        self._served_last = claims[-1].tenant_id
        await self._learn_names(claims)
        return [Attempt.claimed(claim, self._tenants[claim.tenant_id]) for claim in claims]

    async def _learn_names(self, claims: Sequence[Claim]) -> None:
        if len(self._tenants) > TENANT_NAMES_MAX:
            self._tenants.clear()
        unknown = {claim.tenant_id for claim in claims} - self._tenants.keys()
        if unknown:
            async with self._database.proven("working", WORKING) as queries:
                named = await queries.rows("workers.tenant_names", {"tenant_ids": list(unknown)})
            self._tenants |= {row["tenant_id"]: Tenant(row["tenant_id"], row["name"]) for row in named}

    def _tenant_filter(self) -> dict[str, Any]:
        return {"only_tenant": self._only_tenant.id if self._only_tenant is not None else None}

    async def _watch(self, queries: Queries) -> None:
        """Compare what the database says we hold with what we know; write how far it has come."""
        self._watched_at_s = time.monotonic()
        self._is_uncertain = False
        await self._report(queries)
        held = {
            (row["job_id"], row["claim"]): row
            for row in await queries.rows("workers.held", {"worker": self.name})
        }
        for key, attempt in self._running.items():
            if key not in held:
                attempt.cancel("lost")
            elif held[key]["cancel_requested"]:
                attempt.cancel("cancelled")
        # Handlers have gone on meanwhile: some that were running have ended since.
        known = self._running.keys() | {attempt.key for attempt in self._ended}
        self._strange = [_handed_back(row) for key, row in held.items() if key not in known]

    async def _rejoin(self, queries: Queries) -> None:
        """Get back on the list after having been taken for dead, but not while a lost handler still runs.

        Who is not on it is given nothing, so that a job that was lost is not run a second time beside it.
        """
        if not self._heartbeat.is_struck or any(each.reason == "lost" for each in self._running.values()):
            return
        await self._join(queries)
        self._heartbeat.is_struck = False

    async def _report(self, queries: Queries) -> None:
        news = [attempt for attempt in self._running.values() if attempt.job.has_news]
        if not news:
            return
        for attempt in news:
            attempt.job.has_news = False
        reports = _as_json([attempt.report() for attempt in news])
        await queries.execute("workers.report", {"worker": self.name, "reports": reports})

    async def _guard(self) -> None:
        while not self._is_over:
            await asyncio.sleep(GUARD_EVERY_S)
            if self._heartbeat.silent_s > FENCE_AFTER_S and self._running:
                logger.error("no heartbeat for %.0f s: all handlers are stopped", self._heartbeat.silent_s)
                for attempt in self._running.values():
                    attempt.cancel("stopping")

    async def _keep_house(self) -> None:
        while not self._is_over:
            await self._safely(self._rescue)
            await asyncio.sleep(HOUSEKEEPING_EVERY_S)

    async def _rescue(self, database: Database) -> None:
        """Free the jobs of workers that died, and now and then bury those that nobody knows."""
        async with database.proven("working", WORKING) as queries:
            rows = await queries.rows("workers.list")
            signs = [Sign(row["worker"], row["beats"], row["silent_s"]) for row in rows]
            for dead in self._witness.dead_among(signs):
                logger.warning("the worker %s died", dead.worker)
                await queries.one("workers.strike", {"worker": dead.worker, "beats": dead.beats})
            rescued = (await queries.one("workers.rescue"))["rescued"]
            if rescued:
                logger.warning("%d jobs of workers that died were freed", rescued)
            if time.monotonic() >= self._buried_at_s + BURY_EVERY_S:
                self._buried_at_s = time.monotonic()
                limits = {"patience_s": UNKNOWN_TYPE_LIMIT_S, "most": BURY_MAX}
                await queries.one("workers.bury_unknown", limits)

    async def _promote(self) -> None:
        """Look for scheduled jobs when the next one is due, and when there may be a new one."""
        while not (self._is_over or self.is_stopping):
            self._is_hinted.clear()
            self._due_in_s = POLL_S
            await self._safely(self._promote_due)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._due_in_s):
                    await self._is_hinted.wait()
                    await asyncio.sleep(PROMOTE_MIN_S)

    async def _promote_due(self, database: Database) -> None:
        """Let scheduled jobs wait whose time has come."""
        async with database.proven("working", WORKING) as queries:
            row = await queries.one("workers.promote", {**self._tenant_filter(), "most": PROMOTE_MAX})
        if row["next_due_s"] is not None:
            self._due_in_s = min(max(row["next_due_s"], PROMOTE_MIN_S), POLL_S)

    async def _repeat(self, periodic: Periodic) -> None:
        while not self._is_over:
            await self._safely(periodic)
            await asyncio.sleep(POLL_S)

    async def _safely(self, work: Periodic) -> None:
        """What is done again and again is not ended by one failure."""
        try:
            await work(self._database)
        except MnemicError as error:
            logger.warning("the worker could not do what it does now and then: %s", error)
        except Exception:
            logger.exception("the worker could not do what it does now and then")

    async def _leave(self) -> None:
        """Get off the list, unless a handler that cannot be stopped still runs: its job is not free yet."""
        if self._running or self._ended or self._strange:
            return
        try:
            async with self._database.proven("working", WORKING) as queries:
                await queries.one("workers.strike", {"worker": self.name, "beats": None})
        except MnemicError as error:
            logger.warning("the worker could not say that it leaves: %s", error)


def _handed_back(row: Row) -> dict[str, Any]:
    return {
        "tenant_id": str(row["tenant_id"]),
        "job_id": str(row["job_id"]),
        "claim": row["claim"],
        "outcome": "handed_back",
    }


def _as_json(value: list[dict[str, Any]]) -> Jsonb:
    return Jsonb(value, dumps=lambda plain: json.dumps(plain, ensure_ascii=False))
