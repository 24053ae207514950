"""Workers that die, are declared dead, or lose the database, and what happens to their jobs."""

import asyncio
import time
from uuid import UUID, uuid4

import pytest
from psycopg.types.json import Jsonb

from mnemic.db.database import Database, Queries
from mnemic.jobs.handlers import RunningJob
from mnemic.jobs.heartbeat import QUEUE
from mnemic.jobs.job_run import JobRun
from mnemic.jobs.worker import FENCE_AFTER_S, Worker
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.jobs.conftest import StartWorker
from tests.jobs.watching import WAIT_S, until
from tests.waiting import wait_until

JOIN = "INSERT INTO mnemic.workers (worker, types) VALUES ('ghost', '{work}')"
RUN_AS_GHOST = """
    UPDATE queue.jobs SET state = 'running', worker = 'ghost', started_at = now(), claims = claims + 1,
    attempts = attempts + 1
"""


async def work(job: RunningJob) -> int:
    return job.attempt


async def test_a_job_of_a_dead_worker_runs_again_and_the_crash_is_stored(
    memory: AsyncMemory, start_worker: StartWorker, admin: AppConnection
) -> None:
    job = await memory.jobs.enqueue("work")
    admin.execute(RUN_AS_GHOST)
    await start_worker({"work": work})
    done = await memory.jobs.wait(job.job_id)
    assert (done.state, done.result) == ("done", 2)
    assert [(attempt.outcome, attempt.worker == "ghost") for attempt in done.history] == [
        ("crashed", True),
        ("done", False),
    ]


async def test_a_job_that_kills_its_worker_every_time_becomes_a_dead_letter(
    memory: AsyncMemory, start_worker: StartWorker, admin: AppConnection
) -> None:
    job = await memory.jobs.enqueue("deadly", max_attempts=3)
    await start_worker({"work": work})
    for attempt in range(1, 4):
        admin.execute(RUN_AS_GHOST)
        await until(memory, job.job_id, lambda job, n=attempt: len(job.history) == n)  # type: ignore[misc]
    dead = await memory.jobs.status(job.job_id)
    assert dead.error is not None
    assert (dead.state, dead.attempts, dead.error.type) == ("dead", 3, "WorkerDied")
    assert "died in the last of 3 attempts" in dead.error.message
    assert [attempt.outcome for attempt in dead.history] == ["crashed"] * 3


async def test_a_worker_with_a_blocked_event_loop_still_sends_heartbeats(
    memory: AsyncMemory, start_worker: StartWorker, admin: AppConnection
) -> None:
    def beats() -> int:
        (count,) = admin.execute("SELECT max(beats) FROM mnemic.workers").fetchone() or (0,)
        return int(str(count))

    async def block(job: RunningJob) -> int:
        before = beats()
        wait_until(lambda: beats() >= before + 2, timeout_s=WAIT_S)
        return beats() - before

    await start_worker({"block": block})
    job = await memory.jobs.wait((await memory.jobs.enqueue("block")).job_id)
    assert job.result >= 2


async def test_a_worker_declared_dead_cannot_settle_its_job_and_cancels_the_handler(
    memory: AsyncMemory, database: Database, start_worker: StartWorker
) -> None:
    runs: list[tuple[int, str]] = []
    running: set[UUID] = set()

    async def note(job: RunningJob) -> int:
        assert job.id not in running, "the same job runs twice at once"
        running.add(job.id)
        runs.append((job.attempt, "begun"))
        try:
            if job.attempt == 1:
                await asyncio.Event().wait()
        finally:
            runs.append((job.attempt, "ended"))
            running.discard(job.id)
        return job.attempt

    worker = await start_worker({"note": note})
    job = await memory.jobs.enqueue("note")
    await until(memory, job.job_id, lambda job: job.state == "running")
    async with database.privileged_transaction("working", QUEUE) as queries:
        # In one transaction: a worker that registers again before its jobs are requeued keeps them.
        assert (await queries.one("workers.remove", {"worker": worker.name, "beats": None}))["is_removed"]
        assert (await queries.one("workers.requeue_jobs_of_dead_workers"))["requeued"] == 1
    done = await memory.jobs.wait(job.job_id, timeout_s=WAIT_S)
    assert (done.result, done.worker) == (2, worker.name)
    assert runs == [(1, "begun"), (1, "ended"), (2, "begun"), (2, "ended")]
    assert [attempt.outcome for attempt in done.history] == ["crashed", "done"]


async def test_a_worker_without_heartbeats_cancels_its_handlers_in_time(
    memory: AsyncMemory, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def wait(job: RunningJob) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    worker = Worker(database, {"wait": wait})
    task = asyncio.create_task(worker.run())
    job = await memory.jobs.enqueue("wait")
    await begun.wait()
    worker._heartbeat.stop()
    monkeypatch.setattr(worker._heartbeat, "_renewed_at_s", time.monotonic() - FENCE_AFTER_S - 1)
    async with asyncio.timeout(WAIT_S):
        await stopped.wait()
    back = await until(memory, job.job_id, lambda job: job.state == "waiting")
    assert (back.attempts, [attempt.outcome for attempt in back.history]) == (0, ["handed_back"])
    worker.stop(grace_s=0)
    await task


async def test_a_claim_whose_response_was_lost_is_handed_back(
    memory: AsyncMemory, start_worker: StartWorker, admin: AppConnection
) -> None:
    worker = await start_worker({"work": work})
    job = await memory.jobs.enqueue("later", run_at="2999-01-01T00:00:00Z")
    # As if this worker had claimed it in a transaction whose response was lost.
    await asyncio.to_thread(
        admin.execute,
        "UPDATE queue.jobs SET state = 'running', worker = %s, started_at = now(), claims = 1, attempts = 1",
        [worker.name],
    )
    worker._needs_reconciling = True
    back = await until(memory, job.job_id, lambda job: job.state == "waiting")
    assert (back.attempts, [attempt.outcome for attempt in back.history]) == (0, ["handed_back"])


async def test_a_handler_that_ends_while_the_worker_reconciles_is_not_handed_back(
    memory: AsyncMemory, database: Database, start_worker: StartWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def wait(job: RunningJob) -> str:
        begun.set()
        await may_end.wait()
        return "ended"

    worker = await start_worker({"wait": wait})
    report = worker._write_progress

    async def end_meanwhile(queries: Queries) -> None:
        await report(queries)
        may_end.set()

    monkeypatch.setattr(worker, "_write_progress", end_meanwhile)
    job = await memory.jobs.enqueue("wait")
    done = await memory.jobs.wait(job.job_id)
    assert (done.result, [attempt.outcome for attempt in done.history]) == ("ended", ["done"])


async def test_the_reason_lost_overrides_other_reasons_for_a_cancellation(memory: AsyncMemory) -> None:
    """A worker does not register again while the handler of a lost job still runs."""
    job = RunningJob(uuid4(), "work", {}, owner=None, attempt=1, tenant=memory.tenant)
    attempt = JobRun(1, job)
    attempt.cancel("stopping")
    assert attempt.finish(), "it is handed back"
    attempt.cancel("lost")
    attempt.cancel("cancelled")
    assert attempt.reason == "lost"
    assert not attempt.finish(), "nothing to settle: another worker has it"


async def test_an_unregistered_worker_claims_nothing(
    memory: AsyncMemory, database: Database, admin: AppConnection
) -> None:
    await memory.jobs.enqueue("work")
    turn = {
        "worker": "ghost",
        "outcomes": Jsonb([]),
        "types": ["work"],
        "slots": 5,
        "after_tenant": None,
        "only_tenant": None,
    }
    connection = database.dedicated_connection("claim jobs", "queue")
    assert await connection.rows("workers.settle_and_claim", turn) == []
    admin.execute(JOIN)
    assert len(await connection.rows("workers.settle_and_claim", turn)) == 1
    await connection.aclose()


async def test_a_live_worker_keeps_its_job_however_long_it_takes(
    memory: AsyncMemory, database: Database, start_worker: StartWorker, admin: AppConnection
) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def wait(job: RunningJob) -> str:
        begun.set()
        await may_end.wait()
        return "mine"

    await start_worker({"wait": wait})
    job = await memory.jobs.enqueue("wait")
    await begun.wait()
    await start_worker({"wait": work})
    await asyncio.to_thread(
        admin.execute, "UPDATE queue.jobs SET started_at = started_at - interval '1 hour'"
    )
    async with database.privileged_transaction("working", "queue") as queries:
        assert await queries.one("workers.requeue_jobs_of_dead_workers") == {"requeued": 0}
    may_end.set()
    done = await memory.jobs.wait(job.job_id)
    assert (done.result, done.attempts) == ("mine", 1)
