"""`memory.jobs`: background jobs."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from mnemic.jobs import queue
from mnemic.jobs.handlers import RunningJob
from mnemic.jobs.waiting import wait_for_job
from mnemic.jobs.worker import CONCURRENCY_MAX, DEFAULT_CONCURRENCY, DEFAULT_GRACE_S
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.checks import check_number, check_whole
from mnemic.types.job import Job, JobCount, JobState

Function = TypeVar("Function", bound=Callable[[RunningJob], Any])


class AsyncJobs(CallGroup):
    """Background jobs. They are durable, and any worker that has a handler for their type runs them."""

    @routed("jobs.enqueue")
    async def enqueue(
        self,
        type: str,
        payload: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        priority: int = 0,
        run_at: datetime | str | None = None,
        max_attempts: int = queue.DEFAULT_ATTEMPTS,
        owner: str | None = None,
    ) -> Job:
        """Add a job. If a job of this type was enqueued with the same `key`, that job is returned.

        Jobs of higher `priority`, from -100 to 100, run first. A job does not start before `run_at`. Erasing
        an owner erases the jobs that belong to it.
        """
        scope = self._scope.narrowed(owner=owner)
        return await queue.enqueue(
            self._caller.database,
            type,
            payload,
            owner=scope.owner,
            key=key,
            priority=priority,
            run_at=run_at,
            max_attempts=max_attempts,
        )

    @routed("jobs.enqueue_many")
    async def enqueue_many(
        self,
        type: str,
        payloads: Sequence[Mapping[str, Any]],
        *,
        priority: int = 0,
        run_at: datetime | str | None = None,
        max_attempts: int = queue.DEFAULT_ATTEMPTS,
        owner: str | None = None,
    ) -> Sequence[UUID]:
        """Add one job per payload, up to 10,000, all or none; returns their ids."""
        scope = self._scope.narrowed(owner=owner)
        async with self._caller.database.transaction() as transaction:
            return await queue.enqueue_many(
                transaction,
                type,
                payloads,
                owner=scope.owner,
                priority=priority,
                run_at=run_at,
                max_attempts=max_attempts,
            )

    @routed("jobs.status")
    async def status(self, job_id: UUID | str) -> Job:
        """Return one job with its progress, its result or error, and all attempts."""
        return await queue.get_job(self._caller.database, job_id)

    @routed("jobs.list")
    async def list(
        self,
        *,
        state: JobState | None = None,
        type: str | None = None,
        owner: str | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
    ) -> Sequence[Job]:
        """Return jobs of the tenant, newest first; `before` is the last `job_id` of the previous page."""
        wanted = queue.JobFilter(state, type, owner)
        return await queue.list_jobs(self._caller.database, wanted, before=before, limit=limit)

    @routed("jobs.dead")
    async def dead(
        self,
        *,
        type: str | None = None,
        owner: str | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
    ) -> Sequence[Job]:
        """Return dead letters, newest first: jobs that failed permanently, with their last error."""
        wanted = queue.JobFilter("dead", type, owner)
        return await queue.list_jobs(self._caller.database, wanted, before=before, limit=limit)

    @routed("jobs.cancel")
    async def cancel(self, job_id: UUID | str) -> Job:
        """Cancel a job. A running one is asked to stop; it is `cancelled` when its worker has stopped it."""
        return await queue.cancel_job(self._caller.database, job_id)

    @routed("jobs.replay")
    async def replay(self, job_id: UUID | str) -> Job:
        """Run a dead job again, with its full number of attempts."""
        return await queue.replay_job(self._caller.database, job_id)

    @routed("jobs.replay_dead")
    async def replay_dead(
        self,
        *,
        type: str | None = None,
        owner: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int = 1000,
    ) -> int:
        """Run again all dead jobs that match, up to `limit` (at most 10,000); returns how many.

        `since` and `until` are about the time when a job died. The oldest jobs come first: call it again if
        it returns `limit`.
        """
        wanted = queue.JobFilter("dead", type, owner)
        return await queue.replay_dead_jobs(
            self._caller.database, wanted, since=since, until=until, limit=limit
        )

    @routed("jobs.counts")
    async def counts(self) -> Sequence[JobCount]:
        """Return how many jobs of each state and type there are, up to 10,000 of each state."""
        return await queue.count_jobs(self._caller.database)

    async def wait(self, job_id: UUID | str, *, timeout_s: float = 60.0) -> Job:
        """Wait at most `timeout_s` until a job has ended; returns the job as it is then: see `has_ended`."""
        limit_s = check_number("timeout_s", timeout_s)
        return await wait_for_job(lambda: self.status(job_id), timeout_s=limit_s)

    @routed("jobs.handler")
    def handler(self, type: str) -> Callable[[Function], Function]:
        """Register the decorated function as the handler for a type of job, in this process.

        It takes the `RunningJob` and returns JSON or None. It may be async; a plain function runs in a
        thread. The same job may run more than once: see the chapter on jobs in the docs.
        """

        def register(function: Function) -> Function:
            self._caller.core.in_process_worker.register(type, function)
            return function

        return register

    @routed("jobs.work")
    async def work(self, *, concurrency: int = DEFAULT_CONCURRENCY) -> None:
        """Run jobs of this tenant until interrupted: the built-in types, and those with a `handler`.

        After an interrupt running handlers have 30 seconds to end; unfinished jobs return to the queue.
        """
        core = self._caller.core
        check_whole("concurrency", concurrency, 1, CONCURRENCY_MAX)
        core.in_process_worker.start(core.storage.database, core.tenant, concurrency=concurrency)
        try:
            await core.in_process_worker.until_ended()
        finally:
            await core.in_process_worker.aclose(grace_s=DEFAULT_GRACE_S)
