"""Jobs as callers see them: enqueued once, in the caller's transaction, read, cancelled, replayed."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from psycopg.types.json import Jsonb

from mnemic.db.access import Access
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.db.wakeups import notify_channel
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.jobs import queue
from mnemic.jobs.handlers import RunningJob
from mnemic.jobs.queue import PAYLOAD_MAX_BYTES
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.db.test_listen import listening
from tests.jobs.conftest import StartWorker
from tests.jobs.watching import until
from tests.waiting import wait_for


async def test_a_new_job_waits_with_all_its_fields(memory: AsyncMemory) -> None:
    added = await memory.jobs.enqueue("mail.send", {"to": "bob"}, key="one", priority=7, max_attempts=2)
    job = await memory.jobs.status(added.job_id)
    assert (job.state, job.type, job.payload, job.key) == ("waiting", "mail.send", {"to": "bob"}, "one")
    assert (job.priority, job.attempts, job.max_attempts, job.owner) == (7, 0, 2, "alice")
    assert not job.has_ended
    assert job == added


async def test_a_job_for_later_is_scheduled(memory: AsyncMemory) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    job = await memory.jobs.enqueue("mail.send", run_at=tomorrow)
    assert (job.state, job.run_at) == ("scheduled", tomorrow)
    yesterday = await memory.jobs.enqueue("mail.send", run_at="2020-01-01T00:00:00Z")
    assert yesterday.state == "waiting"


async def test_a_job_exists_only_if_its_transaction_was_committed(
    memory: AsyncMemory, database: Database, tenant_a: Tenant
) -> None:
    class ChangedMindError(Exception):
        pass

    async def change_mind() -> None:
        async with TenantDatabase(database, tenant_a).transaction() as transaction:
            await queue.enqueue(transaction, "mail.send", key="k")
            raise ChangedMindError

    with pytest.raises(ChangedMindError):
        await change_mind()
    assert await memory.jobs.list() == []
    assert (await memory.jobs.enqueue("mail.send", key="k")).state == "waiting"


async def test_other_processes_are_woken_for_a_new_job_and_a_few_times_for_many(
    memory: AsyncMemory, access: Access
) -> None:
    async with listening(access, [notify_channel("jobs")]) as ear:
        await memory.jobs.enqueue("mail.send")
        await wait_for(lambda: len(ear.heard) == 1, what="the notification")
        for _ in range(50):
            await memory.jobs.enqueue("mail.send")
        await wait_for(lambda: len(ear.heard) >= 2, what="the notification of those that followed")
    assert len(ear.heard) < 50


async def test_a_job_that_the_database_refuses_leaves_the_connection_as_it_was(
    database: Database, tenant_a: Tenant
) -> None:
    place = TenantDatabase(database, tenant_a)
    refused = {
        "tenant_id": tenant_a.id,
        "owner": None,
        "type": "Not A Type",
        "payload": Jsonb({}),
        "priority": 0,
        "run_at": None,
        "max_attempts": 1,
    }
    for _ in range(3):
        with pytest.raises(InvalidInputError):
            await place.signed_row("queued_jobs.enqueue", refused, wakeups={"jobs"})
        assert (await queue.enqueue(place, "mail.send")).state == "waiting"


async def test_a_scheduled_job_sends_a_wakeup_when_it_is_due(
    memory: AsyncMemory, database: Database, start_worker: StartWorker
) -> None:
    due = datetime.now(UTC) + timedelta(seconds=0.5)
    heard: list[datetime] = []
    end = database.on_wakeup("jobs", lambda: heard.append(datetime.now(UTC)))
    await memory.jobs.enqueue("mail.send", run_at=due)
    await start_worker({})  # It has no handlers, but it promotes due jobs.
    await wait_for(lambda: any(moment >= due for moment in heard), what="the wakeup of the due job")
    end()
    assert [job.state for job in await memory.jobs.list()] == ["waiting"]


async def test_the_next_due_time_is_that_of_the_first_scheduled_job(
    memory: AsyncMemory, database: Database
) -> None:
    async def next_due_s() -> float | None:
        async with database.privileged_transaction("working", "queue") as queries:
            row = await queries.one("workers.promote", {"only_tenant": None, "most": 10})
        due_s: float | None = row["next_due_s"]
        return due_s

    # Without one, a worker would otherwise ask again at once, for ever.
    assert await next_due_s() is None
    await memory.jobs.enqueue("mail.send", run_at=datetime.now(UTC) + timedelta(hours=2))
    await memory.jobs.enqueue("mail.send", run_at=datetime.now(UTC) + timedelta(hours=1))
    assert await next_due_s() == pytest.approx(3_600, abs=600)


async def test_concurrent_calls_with_one_key_return_one_job(memory: AsyncMemory) -> None:
    jobs = await asyncio.gather(*(memory.jobs.enqueue("mail.send", {"n": n}, key="k") for n in range(12)))
    assert len({job.job_id for job in jobs}) == 1
    assert len({str(job.payload) for job in jobs}) == 1
    assert len(await memory.jobs.list()) == 1
    other = await memory.jobs.enqueue("mail.read", key="k")
    assert other.job_id != jobs[0].job_id


async def test_a_key_is_taken_after_its_job_has_ended(memory: AsyncMemory, start_worker: StartWorker) -> None:
    async def send(job: RunningJob) -> str:
        return "sent"

    job = await memory.jobs.enqueue("mail.send", key="k")
    await start_worker({"mail.send": send})
    ended = await memory.jobs.wait(job.job_id)
    again = await memory.jobs.enqueue("mail.send", key="k")
    assert (again.job_id, again.state, again.result) == (job.job_id, "done", "sent")
    assert ended.state == "done"


async def test_tenants_do_not_share_keys(memory: AsyncMemory, foreign_memory: AsyncMemory) -> None:
    ours = await memory.jobs.enqueue("mail.send", key="k")
    theirs = await foreign_memory.jobs.enqueue("mail.send", key="k")
    assert ours.job_id != theirs.job_id
    with pytest.raises(NotFoundError):
        await foreign_memory.jobs.status(ours.job_id)


async def test_many_jobs_are_added_in_one_call_in_their_order(memory: AsyncMemory) -> None:
    ids = await memory.jobs.enqueue_many("mail.send", [{"n": n} for n in range(500)])
    assert [(await memory.jobs.status(job_id)).payload["n"] for job_id in ids[::100]] == [
        0,
        100,
        200,
        300,
        400,
    ]


BAD_INPUT: list[tuple[dict[str, Any], str]] = [
    ({"type": ""}, "type must be"),
    ({"type": "Not Lower"}, "type must be"),
    ({"type": 7}, "type must be"),
    ({"type": "a" * 129}, "type must be"),
    ({"payload": ["a list"]}, "payload must be a mapping"),
    ({"payload": {"a": object()}}, "payload must be JSON"),
    ({"payload": {"a": float("nan")}}, "payload must be JSON"),
    ({"payload": {"a": "\0"}}, "NUL"),
    ({"payload": {"a": "x" * PAYLOAD_MAX_BYTES}}, "the limit is 65,536"),
    ({"priority": -101}, "priority must be a whole number from -100 to 100"),
    ({"priority": 101}, "priority must be"),
    ({"priority": 1.5}, "priority must be"),
    ({"priority": True}, "priority must be"),
    ({"max_attempts": 0}, "max_attempts must be a whole number from 1 to 100"),
    ({"max_attempts": 101}, "max_attempts must be"),
    ({"run_at": "tomorrow"}, "run_at must be a date"),
    ({"run_at": datetime(2026, 1, 1)}, "run_at has no time zone"),
    ({"key": ""}, "key must have"),
    ({"key": "k" * 257}, "key must have"),
    ({"owner": ""}, "owner must have"),
]


async def test_bad_input_is_refused_and_nothing_is_written(
    memory: AsyncMemory, subtests: pytest.Subtests
) -> None:
    for arguments, message in BAD_INPUT:
        with subtests.test(message):
            with pytest.raises(InvalidInputError, match=message):
                await memory.jobs.enqueue(**{"type": "mail.send", **arguments})
            assert await memory.jobs.list() == []


@pytest.mark.parametrize("payload", [{"a": [1] * 20_000}, {"a": [1e300] * 8_000}, {"a": "é" * 30_000}])
async def test_a_payload_that_python_accepts_is_accepted_by_the_database(
    memory: AsyncMemory, payload: dict[str, Any]
) -> None:
    job = await memory.jobs.enqueue("mail.send", payload)
    assert len((await memory.jobs.status(job.job_id)).payload["a"]) == len(payload["a"])


async def test_jobs_are_listed_newest_first_by_state_and_type_and_in_pages(memory: AsyncMemory) -> None:
    ids = [(await memory.jobs.enqueue(f"kind{n % 2}", owner=f"owner{n % 3}")).job_id for n in range(6)]
    await memory.jobs.cancel(ids[0])
    assert [job.job_id for job in await memory.jobs.list()] == ids[::-1]
    assert [job.job_id for job in await memory.jobs.list(state="cancelled")] == [ids[0]]
    assert [job.job_id for job in await memory.jobs.list(type="kind1")] == [ids[5], ids[3], ids[1]]
    assert [job.job_id for job in await memory.jobs.list(owner="owner2")] == [ids[5], ids[2]]
    first = await memory.jobs.list(limit=4)
    second = await memory.jobs.list(limit=4, before=first[-1].job_id)
    assert [job.job_id for job in [*first, *second]] == ids[::-1]
    with pytest.raises(InvalidInputError, match="state must be one of"):
        await memory.jobs.list(state="lost")  # type: ignore[arg-type]


async def test_a_waiting_job_is_cancelled_at_once_and_once(
    memory: AsyncMemory, foreign_memory: AsyncMemory
) -> None:
    job = await memory.jobs.enqueue("mail.send")
    with pytest.raises(NotFoundError):
        await foreign_memory.jobs.cancel(job.job_id)
    assert (await memory.jobs.status(job.job_id)).state == "waiting"
    assert (await memory.jobs.cancel(job.job_id)).state == "cancelled"
    assert (await memory.jobs.cancel(job.job_id)).history == ()
    with pytest.raises(NotFoundError):
        await memory.jobs.cancel(uuid4())


async def test_a_dead_job_is_replayed_with_all_its_attempts(
    memory: AsyncMemory, foreign_memory: AsyncMemory, start_worker: StartWorker
) -> None:
    async def send(job: RunningJob) -> None:
        seen.append(job.attempt)
        if len(seen) == 1:
            raise ValueError("no such address")

    seen: list[int] = []
    job = await memory.jobs.enqueue("mail.send", {"to": "bob"}, max_attempts=1)
    await start_worker({"mail.send": send})
    ended = await memory.jobs.wait(job.job_id)
    assert [dead.job_id for dead in await memory.jobs.dead()] == [job.job_id]
    assert ended.error is not None
    assert (ended.state, ended.error.type, ended.error.message) == ("dead", "ValueError", "no such address")
    with pytest.raises(NotFoundError):
        await foreign_memory.jobs.replay(job.job_id)
    assert (await memory.jobs.replay(job.job_id)).payload == {"to": "bob"}
    again = await memory.jobs.wait(job.job_id)
    assert (again.state, again.attempts, seen) == ("done", 1, [1, 1])
    assert [attempt.outcome for attempt in again.history] == ["failed", "done"]
    with pytest.raises(ConflictError, match="only dead jobs"):
        await memory.jobs.replay(job.job_id)
    with pytest.raises(ConflictError, match="cannot be cancelled"):
        await memory.jobs.cancel(job.job_id)


async def test_erasing_an_owner_erases_jobs_in_every_state_and_none_of_a_namesake(
    memory: AsyncMemory, foreign_memory: AsyncMemory, start_worker: StartWorker, admin: AppConnection
) -> None:
    async def fail(job: RunningJob) -> None:
        raise ValueError("secret of bob")

    for each in (memory, foreign_memory):
        for kind in ("dies", "dies", "waits"):
            await each.jobs.enqueue(kind, {"secret": "bob"}, owner="bob", key=str(uuid4()), max_attempts=1)
    kept = await memory.jobs.enqueue("waits", {"secret": "carol"}, owner="carol", key="secret")
    worker = await start_worker({"dies": fail})
    for each in (memory, foreign_memory):
        retried = await each.jobs.enqueue("dies", {"secret": "bob"}, owner="bob", max_attempts=2)
        await until(each, retried.job_id, lambda job: len(job.history) == 1)
    worker.stop()

    def held(table: str) -> list[object]:
        """How many rows of the owner bob each tenant has."""
        counted = f"SELECT count(*) FROM queue.{table} WHERE owner = 'bob' GROUP BY tenant_id"
        return [count for (count,) in admin.execute(counted.encode()).fetchall()]

    tables = ("jobs", "finished_jobs", "attempts", "job_keys")
    before = {table: held(table) for table in tables}
    assert before == {"jobs": [2, 2], "finished_jobs": [2, 2], "attempts": [1, 1], "job_keys": [3, 3]}
    receipt = await memory.admin.erase("bob")
    assert receipt is not None
    assert [job.job_id for job in await memory.jobs.list()] == [kept.job_id]
    assert {table: held(table) for table in tables} == {table: before[table][1:] for table in tables}
    assert len(await foreign_memory.jobs.list()) == 4


async def test_finished_jobs_are_pruned_after_some_time(
    memory: AsyncMemory, start_worker: StartWorker, database: Database, admin: AppConnection
) -> None:
    async def send(job: RunningJob) -> None:
        pass

    await start_worker({"mail.send": send})
    ids = [(await memory.jobs.enqueue("mail.send", key=key)).job_id for key in "ab"]
    for job_id in ids:
        await memory.jobs.wait(job_id)
    admin.execute(
        "UPDATE queue.finished_jobs SET finished_at = now() - interval '31 days' WHERE job_id = %s", [ids[0]]
    )
    async with database.privileged_transaction("working", "queue") as queries:
        assert await queries.one("housekeeping.prune_jobs", {"keep_days": 30, "limit": 10}) == {"pruned": 1}
    assert [job.job_id for job in await memory.jobs.list()] == [ids[1]]
    assert (await memory.jobs.enqueue("mail.send", key="a")).job_id not in ids
    assert (await memory.jobs.enqueue("mail.send", key="b")).job_id == ids[1]
