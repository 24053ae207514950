"""`memory.jobs`: work that is done later."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from mnemic.jobs import queue
from mnemic.jobs.handlers import RunningJob
from mnemic.jobs.waiting import wait_for_job
from mnemic.jobs.worker import CONCURRENCY_MAX, DEFAULT_CONCURRENCY, DEFAULT_GRACE_S
from mnemic.runtime.core import Caller
from mnemic.types.checks import check_number
from mnemic.types.job import Job, JobState

Function = TypeVar("Function", bound=Callable[[RunningJob], Any])


class AsyncJobs:
    """Work that is done later, by whichever worker knows how, and not lost on the way."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

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
        """Add a job. Under a `key` that was used before, for this type, the job that has it is returned.

        Higher `priority` goes first, from -100 to 100. It does not begin before `run_at`. A job that belongs
        to an owner is erased with that owner.
        """
        scope = self._caller.scope.narrowed(owner=owner)
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
        """Add a job for each payload, up to 10,000, all or none; returns their ids."""
        scope = self._caller.scope.narrowed(owner=owner)
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

    async def status(self, job_id: UUID | str) -> Job:
        """One job with its progress, its result or error, and all attempts at it."""
        return await queue.get_job(self._caller.database, job_id)

    async def list(
        self,
        *,
        state: JobState | None = None,
        type: str | None = None,
        owner: str | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
    ) -> Sequence[Job]:
        """Jobs of the tenant, newest first; `before` is the `job_id` of the last one on the page before."""
        wanted = queue.JobFilter(state, type, owner)
        return await queue.list_jobs(self._caller.database, wanted, before=before, limit=limit)

    async def dead(
        self,
        *,
        type: str | None = None,
        owner: str | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
    ) -> Sequence[Job]:
        """Dead letters, newest first: jobs that failed for good, with the error that ended them."""
        wanted = queue.JobFilter("dead", type, owner)
        return await queue.list_jobs(self._caller.database, wanted, before=before, limit=limit)

    async def cancel(self, job_id: UUID | str) -> Job:
        """Cancel a job. One that runs is asked to stop: it is `cancelled` when its worker has done so."""
        return await queue.cancel_job(self._caller.database, job_id)

    async def replay(self, job_id: UUID | str) -> Job:
        """Let a dead job run again, with all its attempts before it."""
        return await queue.replay_job(self._caller.database, job_id)

    async def wait(self, job_id: UUID | str, *, timeout_s: float = 60.0) -> Job:
        """Wait until a job has ended, at most so long; returns it as it is then: see `has_ended`."""
        limit_s = check_number("timeout_s", timeout_s)
        return await wait_for_job(lambda: self.status(job_id), timeout_s=limit_s)

    def handler(self, type: str) -> Callable[[Function], Function]:
        """Have jobs of a type done by the decorated function, in this process.

        It takes the `RunningJob` and returns JSON or nothing; an async function, or a plain one, which runs
        in a thread. It may be run more than once for the same job: see the chapter on jobs in the docs.
        """

        def register(function: Function) -> Function:
            self._caller.core.in_process_worker.register(type, function)
            return function

        return register

    async def work(self, *, concurrency: int = DEFAULT_CONCURRENCY) -> None:
        """Work on jobs of this tenant until interrupted: what Mnemic knows, and what has a `handler`.

        An interrupt lets running handlers end, up to 30 seconds, and hands back what did not.
        """
        core = self._caller.core
        queue.check_whole("concurrency", concurrency, 1, CONCURRENCY_MAX)
        core.in_process_worker.start(core.storage.database, core.tenant, concurrency=concurrency)
        try:
            await core.in_process_worker.until_ended()
        finally:
            await core.in_process_worker.aclose(grace_s=DEFAULT_GRACE_S)
