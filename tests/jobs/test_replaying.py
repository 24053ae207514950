"""Dead jobs that match are replayed together; jobs are counted by state and type; errors stay readable."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemic.errors import InvalidInputError
from mnemic.jobs import queue
from mnemic.jobs.handlers import RunningJob
from mnemic.sdk.memory import AsyncMemory
from mnemic.sql import query
from tests.conftest import AppConnection, ConnectAs
from tests.jobs.conftest import StartWorker
from tests.jobs.watching import until

FINISHED = """
    INSERT INTO queue.finished_jobs (
        tenant_id, job_id, owner, type, payload, priority, run_at, state, attempts, max_attempts, claims,
        outcome, error, worker, started_at, created_at, finished_at
    )
    SELECT %s, mnemic.new_id(), %s, %s, '{}', 0, now(), %s, 1, 1, 1, 'failed',
        '{"type": "ValueError", "message": "no", "traceback": "here"}', 'w', now(), now(), %s
    FROM generate_series(1, %s)
"""


def finish(
    admin: AppConnection,
    memory: AsyncMemory,
    count: int,
    *,
    type: str = "mail",
    state: str = "dead",
    owner: str | None = None,
    at: datetime | None = None,
) -> None:
    admin.execute(FINISHED, [memory.tenant.id, owner, type, state, at or datetime.now(UTC), count])


async def test_dead_jobs_that_match_are_replayed_and_no_others(
    memory: AsyncMemory, foreign_memory: AsyncMemory, admin: AppConnection
) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    finish(admin, memory, 3)
    finish(admin, memory, 2, at=yesterday)
    finish(admin, memory, 2, type="other", owner="bob")
    finish(admin, memory, 4, state="done")
    finish(admin, foreign_memory, 5)
    assert await memory.jobs.replay_dead(type="mail", until=yesterday + timedelta(minutes=1)) == 2
    assert await memory.jobs.replay_dead(owner="bob") == 2
    assert await memory.jobs.replay_dead(limit=2) == 2
    assert await memory.jobs.replay_dead() == 1
    assert await memory.jobs.replay_dead() == 0
    waiting = await memory.jobs.list(state="waiting")
    assert len(waiting) == 7
    assert {(job.attempts, job.max_attempts, job.finished_at) for job in waiting} == {(0, 1, None)}
    assert len(await foreign_memory.jobs.dead()) == 5
    assert len(await memory.jobs.list(state="done")) == 4


async def test_bad_filters_are_refused_and_change_nothing(memory: AsyncMemory, admin: AppConnection) -> None:
    finish(admin, memory, 1)
    wrongs: list[dict[str, Any]] = [
        {"limit": 0},
        {"limit": 10_001},
        {"type": "No type"},
        {"owner": ""},
        {"since": "soon"},
    ]
    for wrong in wrongs:
        with pytest.raises(InvalidInputError):
            await memory.jobs.replay_dead(**wrong)
    assert len(await memory.jobs.dead()) == 1


async def test_replayed_jobs_run_and_keep_the_attempt_before(
    memory: AsyncMemory, start_worker: StartWorker
) -> None:
    async def send(job: RunningJob) -> None:
        seen.append(job.payload["n"])
        if len(seen) <= 2:
            raise ValueError("no such address")

    seen: list[int] = []
    ids = await memory.jobs.enqueue_many("mail.send", [{"n": 1}, {"n": 2}], max_attempts=1)
    await start_worker({"mail.send": send})
    for job_id in ids:
        await memory.jobs.wait(job_id)
    assert await memory.jobs.replay_dead(type="mail.send") == 2
    for job_id in ids:
        job = await memory.jobs.wait(job_id)
        assert [attempt.outcome for attempt in job.history] == ["failed", "done"]


async def test_a_job_that_waits_for_a_retry_shows_the_error_of_its_last_attempt(
    memory: AsyncMemory, start_worker: StartWorker
) -> None:
    async def fail(job: RunningJob) -> None:
        raise ValueError("no such address")

    job = await memory.jobs.enqueue("mail.send", max_attempts=3)
    await start_worker({"mail.send": fail})
    retried = await until(memory, job.job_id, lambda job: len(job.history) == 1)
    (listed,) = await memory.jobs.list(state="scheduled", type="mail.send")
    for found in (retried, listed):
        assert found.error is not None
        assert found.error.message == "no such address"
        assert "in fail" in found.error.traceback


async def test_jobs_are_counted_by_state_and_type(
    memory: AsyncMemory, admin: AppConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(admin, memory, 3)
    finish(admin, memory, 2, type="other", state="done")
    await memory.jobs.enqueue("mail", run_at="2099-01-01T00:00:00Z")
    await memory.jobs.cancel((await memory.jobs.enqueue("mail")).job_id)
    await memory.jobs.enqueue("other")

    async def counts() -> dict[tuple[str, str], tuple[int, bool]]:
        counted = await memory.jobs.counts()
        return {(each.state, each.type): (each.job_count, each.has_more) for each in counted}

    assert await counts() == {
        ("dead", "mail"): (3, False),
        ("done", "other"): (2, False),
        ("scheduled", "mail"): (1, False),
        ("cancelled", "mail"): (1, False),
        ("waiting", "other"): (1, False),
    }
    monkeypatch.setattr(queue, "COUNTED_MAX", 2)
    assert (await counts())["dead", "mail"] == (3, True)


@pytest.mark.parametrize(
    ("name", "indexes"),
    [
        ("queued_jobs.counts", ("finished_jobs_dead", "finished_jobs_cancelled", "finished_jobs_pkey")),
        ("queued_jobs.replay_dead", ("finished_jobs_dead",)),
    ],
)
async def test_counting_and_finding_dead_jobs_goes_by_an_index(
    memory: AsyncMemory, admin: AppConnection, connect_as: ConnectAs, name: str, indexes: tuple[str, ...]
) -> None:
    finish(admin, memory, 20_000, state="done")
    finish(admin, memory, 50)
    finish(admin, memory, 50, state="cancelled")
    admin.execute("ANALYZE queue.finished_jobs")
    given = {
        "tenant_id": memory.tenant.id,
        "most": 1000,
        "type": None,
        "owner": None,
        "since": None,
        "until": None,
        "limit": 10,
    }
    plan = connect_as(memory.tenant).execute(f"EXPLAIN {query(name)}".encode(), given).fetchall()
    text = "\n".join(str(line) for (line,) in plan)
    assert [index for index in indexes if index not in text] == [], text
    assert "Seq Scan on finished_jobs" not in text, text
