"""The worker: runs jobs, stores errors, retries, stops, hands jobs back, and is fair between tenants."""

import asyncio
import logging
import os
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.errors import PermanentJobError, SpendCapError
from mnemic.jobs.handlers import Handler, JsonValue, RunningJob
from mnemic.jobs.queue import ENQUEUE_MANY_MAX
from mnemic.jobs.worker import Worker
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.jobs.conftest import StartWorker
from tests.jobs.watching import WAIT_S, until
from tests.opened import opened
from tests.waiting import wait_for


def returning(value: object) -> Handler:
    async def handler(job: RunningJob) -> JsonValue:
        return value  # type: ignore[return-value]

    return handler


class Gate:
    """A handler that signals its start, and waits for permission to end."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()

    async def __call__(self, job: RunningJob) -> str:
        self.begun.set()
        await self.may_end.wait()
        return "ended"


async def test_a_job_runs_once_and_its_result_is_stored(
    memory: AsyncMemory, start_worker: StartWorker
) -> None:
    worker = await start_worker({"add": returning({"sum": [1, 2.5, "three", None, True]})})
    job = await memory.jobs.wait((await memory.jobs.enqueue("add", {"a": 1})).job_id)
    assert (job.state, job.attempts, job.worker) == ("done", 1, worker.name)
    assert job.result == {"sum": [1, 2.5, "three", None, True]}
    (attempt,) = job.history
    assert (attempt.outcome, attempt.worker) == ("done", worker.name)
    assert 0 <= attempt.duration_s < WAIT_S


async def test_a_permanent_error_makes_a_dead_letter_without_another_attempt(
    memory: AsyncMemory, start_worker: StartWorker
) -> None:
    async def refuse(job: RunningJob) -> JsonValue:
        raise PermanentJobError("The text is too long.")

    await start_worker({"refuse": refuse})
    job = await memory.jobs.wait((await memory.jobs.enqueue("refuse", max_attempts=3)).job_id)
    assert (job.state, job.attempts) == ("dead", 1)
    assert job.error is not None
    assert (job.error.type, job.error.message) == ("PermanentJobError", "The text is too long.")


async def test_a_spend_cap_parks_a_job_until_its_period_ends(
    memory: AsyncMemory, start_worker: StartWorker, admin: AppConnection
) -> None:
    retry_at = (datetime.now(UTC) + timedelta(hours=7)).replace(microsecond=0)
    calls: list[int] = []

    async def ask(job: RunningJob) -> JsonValue:
        calls.append(job.attempt)
        if len(calls) == 1:
            raise SpendCapError("The spend cap of $5.00 for a day stops this call.", retry_at=retry_at)
        return None

    await start_worker({"ask": ask})
    job_id = (await memory.jobs.enqueue("ask", max_attempts=1)).job_id
    parked = await until(memory, job_id, lambda job: job.state == "scheduled" and bool(job.history))
    assert (parked.run_at, parked.attempts) == (retry_at, 0), "no attempt is used up"
    (attempt,) = parked.history
    assert attempt.error is not None
    assert (attempt.outcome, attempt.error.type) == ("handed_back", "SpendCapError")
    assert attempt.error.message == "The spend cap of $5.00 for a day stops this call."
    admin.execute("UPDATE queue.jobs SET run_at = now()")
    assert (await memory.jobs.wait(job_id)).state == "done"
    assert calls == [1, 1]


async def test_the_handler_gets_all_fields_of_its_job(
    memory: AsyncMemory, start_worker: StartWorker, tenant_a: Tenant
) -> None:
    seen: list[RunningJob] = []

    async def look(job: RunningJob) -> None:
        seen.append(job)

    added = await memory.jobs.enqueue("look", {"a": [1]}, owner="bob")
    await start_worker({"look": look})
    await memory.jobs.wait(added.job_id)
    (job,) = seen
    assert (job.id, job.type, job.payload, job.owner) == (added.job_id, "look", {"a": [1]}, "bob")
    assert (job.attempt, job.tenant) == (1, tenant_a)


async def test_a_failed_attempt_is_stored_and_retried_later(
    memory: AsyncMemory, start_worker: StartWorker, admin: AppConnection
) -> None:
    async def fail(job: RunningJob) -> None:
        raise ValueError(f"attempt {job.attempt}\0\ud800")

    job = await memory.jobs.enqueue("fail", max_attempts=3)
    await start_worker({"fail": fail})
    for attempt, delay_s in ((1, 30), (2, 60)):
        tried = await until(memory, job.job_id, lambda job, n=attempt: len(job.history) == n)  # type: ignore[misc]
        wait = tried.run_at - tried.history[-1].ended_at
        assert abs(wait - timedelta(seconds=delay_s)) < timedelta(seconds=1)
        assert tried.state == "scheduled"
        await asyncio.to_thread(admin.execute, "UPDATE queue.jobs SET run_at = now()")
    dead = await memory.jobs.wait(job.job_id)
    assert (dead.state, dead.attempts) == ("dead", 3)
    assert dead.error is not None
    assert dead.error.message == "attempt 3\\0\\ud800"
    assert "in fail" in dead.error.traceback
    assert [attempt.outcome for attempt in dead.history] == ["failed"] * 3


async def test_retries_are_an_hour_apart_at_most(admin: AppConnection) -> None:
    rows = admin.execute(
        "SELECT extract(epoch FROM mnemic.retry_delay(n))::int FROM unnest(ARRAY[1, 2, 7, 8, 100]) AS n"
    ).fetchall()
    assert rows == [(30,), (60,), (1920,), (3600,), (3600,)]


@pytest.mark.parametrize(
    ("result", "message"),
    [(object(), "not JSON serializable"), (float("nan"), "JSON"), ("x" * 70_000, "the limit is 65,536")],
)
async def test_a_handler_that_does_not_return_json_fails(
    memory: AsyncMemory, start_worker: StartWorker, result: object, message: str
) -> None:
    await start_worker({"odd": returning(result)})
    job = await memory.jobs.wait((await memory.jobs.enqueue("odd", max_attempts=1)).job_id)
    assert job.state == "dead"
    assert job.error is not None
    assert "must return JSON" in job.error.message
    assert message in job.error.message


async def test_progress_is_visible_while_a_job_runs_and_afterwards(
    memory: AsyncMemory, start_worker: StartWorker
) -> None:
    may_end = asyncio.Event()

    async def count(job: RunningJob) -> None:
        await job.report(done=3, total=10, note="counting")
        await may_end.wait()
        await job.report(done=10, total=10)

    job = await memory.jobs.enqueue("count")
    await start_worker({"count": count})
    running = await until(memory, job.job_id, lambda job: job.progress is not None)
    assert running.progress is not None
    assert (running.state, running.progress.done, running.progress.note) == ("running", 3, "counting")
    may_end.set()
    done = await memory.jobs.wait(job.job_id)
    assert done.progress is not None
    assert (done.progress.done, done.progress.total, done.progress.note) == (10, 10, None)


async def test_a_running_job_is_cancelled_by_its_worker(
    memory: AsyncMemory, start_worker: StartWorker
) -> None:
    gate = Gate()
    job = await memory.jobs.enqueue("wait")
    await start_worker({"wait": gate})
    await gate.begun.wait()
    asked = await memory.jobs.cancel(job.job_id)
    assert asked.cancel_requested
    ended = await memory.jobs.wait(job.job_id)
    assert (ended.state, [attempt.outcome for attempt in ended.history]) == ("cancelled", ["cancelled"])


async def test_erasing_a_running_job_cancels_its_handler(
    memory: AsyncMemory, start_worker: StartWorker
) -> None:
    stopped = asyncio.Event()

    async def wait(job: RunningJob) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    begun = asyncio.Event()
    await memory.jobs.enqueue("wait", owner="bob")
    await start_worker({"wait": wait})
    await begun.wait()
    await memory.admin.erase("bob")
    async with asyncio.timeout(WAIT_S):
        await stopped.wait()
    assert await memory.jobs.list() == []


async def test_stopping_lets_running_jobs_end(memory: AsyncMemory, database: Database) -> None:
    gate = Gate()
    running = await memory.jobs.enqueue("wait")
    worker = Worker(database, {"wait": gate}, concurrency=1)
    work = asyncio.create_task(worker.run())
    await gate.begun.wait()
    waiting = await memory.jobs.enqueue("wait")
    worker.stop(grace_s=WAIT_S)
    gate.may_end.set()
    await work
    assert (await memory.jobs.status(running.job_id)).result == "ended"
    assert (await memory.jobs.status(waiting.job_id)).state == "waiting"


async def test_stopping_hands_back_unfinished_jobs_without_counting_an_attempt(
    memory: AsyncMemory, database: Database, start_worker: StartWorker, admin: AppConnection
) -> None:
    gate = Gate()
    job = await memory.jobs.enqueue("wait", max_attempts=1)
    worker = Worker(database, {"wait": gate})
    work = asyncio.create_task(worker.run())
    await gate.begun.wait()
    worker.stop(grace_s=0)
    await work
    back = await memory.jobs.status(job.job_id)
    assert (back.state, back.attempts, back.worker) == ("waiting", 0, None)
    assert [attempt.outcome for attempt in back.history] == ["handed_back"]
    assert admin.execute("SELECT count(*) FROM mnemic.workers").fetchone() == (0,)
    gate.may_end.set()
    await start_worker({"wait": gate})
    done = await memory.jobs.wait(job.job_id)
    assert (done.state, done.attempts, len(done.history)) == ("done", 1, 2)


async def test_higher_priority_goes_first_then_the_longest_waiting(
    memory: AsyncMemory, start_worker: StartWorker
) -> None:
    order: list[str] = []

    async def note(job: RunningJob) -> None:
        order.append(job.payload["name"])

    now = datetime.now(UTC)
    for kind, name, priority, age_s in (
        ("one", "late", 0, 1),
        ("two", "early", 0, 9),
        ("one", "low", -100, 99),
        ("two", "high", 100, 0),
        ("one", "middle", 1, 0),
    ):
        run_at = now - timedelta(seconds=age_s)
        await memory.jobs.enqueue(kind, {"name": name}, priority=priority, run_at=run_at)
    await start_worker({"one": note, "two": note}, concurrency=1)
    await wait_for(lambda: len(order) == 5, timeout_s=WAIT_S)
    assert order == ["high", "middle", "early", "late", "low"]


async def test_a_scheduled_job_runs_when_it_is_due_and_not_before(
    memory: AsyncMemory, start_worker: StartWorker
) -> None:
    await start_worker({"tick": returning(None)})
    run_at = datetime.now(UTC) + timedelta(seconds=1.5)
    job = await memory.jobs.enqueue("tick", run_at=run_at)
    done = await memory.jobs.wait(job.job_id)
    assert done.started_at is not None
    assert run_at <= done.started_at < run_at + timedelta(seconds=WAIT_S)


async def test_a_worker_runs_no_more_jobs_than_it_has_slots(
    memory: AsyncMemory, start_worker: StartWorker
) -> None:
    running: list[UUID] = []
    most = 0

    async def work(job: RunningJob) -> None:
        nonlocal most
        running.append(job.id)
        most = max(most, len(running))
        await asyncio.sleep(0)
        running.remove(job.id)

    ids = await memory.jobs.enqueue_many("work", [{}] * 50)
    await start_worker({"work": work}, concurrency=3)
    for job_id in ids:
        assert (await memory.jobs.wait(job_id)).state == "done"
    assert most == 3


async def test_a_worker_does_not_claim_jobs_of_unknown_types(
    memory: AsyncMemory, start_worker: StartWorker
) -> None:
    unknown = await memory.jobs.enqueue("unknown", priority=100)
    known = await memory.jobs.enqueue("known")
    await start_worker({"known": returning(None)})
    await memory.jobs.wait(known.job_id)
    assert (await memory.jobs.status(unknown.job_id)).state == "waiting"
    await start_worker({"unknown": returning("done by the other")})
    assert (await memory.jobs.wait(unknown.job_id)).result == "done by the other"


async def test_a_job_of_a_type_that_no_worker_knows_for_a_day_becomes_a_dead_letter(
    memory: AsyncMemory, start_worker: StartWorker, admin: AppConnection
) -> None:
    old = await memory.jobs.enqueue("unknown")
    fresh = await memory.jobs.enqueue("unknown")
    admin.execute(
        "UPDATE queue.jobs SET run_at = now() - interval '25 hours' WHERE job_id = %s", [old.job_id]
    )
    await start_worker({"known": returning(None), "other": returning(None)})
    dead = await memory.jobs.wait(old.job_id)
    assert dead.error is not None
    assert (dead.state, dead.error.type, dead.history) == ("dead", "UnknownJobType", ())
    assert dead.error.message == "no worker knew the type unknown; the workers know: known, other"
    assert (await memory.jobs.status(fresh.job_id)).state == "waiting"


CROWD = 100_000 if "SLOW_TESTS" in os.environ else 300


@pytest.mark.parametrize("concurrency", [1, 4])
async def test_a_tenant_with_many_jobs_does_not_starve_another(
    database: Database, start_worker: StartWorker, concurrency: int
) -> None:
    order: list[str] = []

    async def note(job: RunningJob) -> None:
        order.append(job.tenant.name)

    crowd = opened(database, await database.open_tenant("crowd"))
    for start in range(0, CROWD, ENQUEUE_MANY_MAX):
        await crowd.jobs.enqueue_many("note", [{}] * min(CROWD - start, ENQUEUE_MANY_MAX), priority=100)
    for name in ("first", "second", "third"):
        await opened(database, await database.open_tenant(name)).jobs.enqueue_many("note", [{}] * 5)
    await start_worker({"note": note}, concurrency=concurrency)
    await wait_for(lambda: len(order) - order.count("crowd") == 15, timeout_s=WAIT_S)
    for name in ("first", "second", "third"):
        assert max(number for number, tenant in enumerate(order) if tenant == name) < 4 * 5 + 2 * concurrency


async def test_a_worker_of_one_tenant_claims_no_jobs_of_others(
    memory: AsyncMemory, foreign_memory: AsyncMemory, start_worker: StartWorker, tenant_a: Tenant
) -> None:
    theirs = await foreign_memory.jobs.enqueue("work")
    ours = await memory.jobs.enqueue("work")
    await start_worker({"work": returning(None)}, only_tenant=tenant_a)
    await memory.jobs.wait(ours.job_id)
    assert (await foreign_memory.jobs.status(theirs.job_id)).state == "waiting"


async def test_a_failed_periodic_task_is_repeated(
    database: Database, start_worker: StartWorker, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[Database] = []

    async def tick(given: Database) -> None:
        calls.append(given)
        if len(calls) == 1:
            raise ValueError("once")

    with caplog.at_level(logging.ERROR, "mnemic.worker"):
        await start_worker({}, periodic=[tick])
        await wait_for(lambda: len(calls) >= 2, timeout_s=WAIT_S)
    assert calls[0] is database


async def test_the_log_names_the_job_and_omits_its_payload_and_error_message(
    memory: AsyncMemory, start_worker: StartWorker, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(job: RunningJob) -> None:
        raise ValueError(job.payload["secret"])

    with caplog.at_level(logging.INFO, "mnemic"):
        await start_worker({"fail": fail})
        job = await memory.jobs.enqueue("fail", {"secret": "hush"}, max_attempts=1)
        await memory.jobs.wait(job.job_id)
    (record,) = [record for record in caplog.records if getattr(record, "job_id", "") == str(job.job_id)]
    assert (record.job_type, record.attempt, record.outcome) == ("fail", 1, "failed")  # type: ignore[attr-defined]
    assert record.error_type == "ValueError"  # type: ignore[attr-defined]
    assert "hush" not in caplog.text
