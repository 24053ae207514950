"""BackgroundTasks: one at a time, each once, and never an error to a caller."""

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.embeddings import indexes as indexing
from mnemic.embeddings.indexes import index_owner, survey_indexes
from mnemic.errors import ClosedError, ConfigurationError, ConflictError
from mnemic.runtime import background_tasks
from mnemic.runtime.background_tasks import BackgroundTasks, Work
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.many_vectors import MODEL, clustered, give_vectors
from tests.opened import core_of, opened
from tests.waiting import wait_for

INDEXES = "SELECT count(*) FROM pg_class WHERE relname LIKE 'hnsw%'"
ROWS_MIN = 40


class Gate:
    """A task that signals its start and waits for permission to end."""

    def __init__(self) -> None:
        self.begun = 0
        self.ended = 0
        self.opened = asyncio.Event()

    async def __call__(self) -> None:
        self.begun += 1
        await self.opened.wait()
        self.ended += 1


def failing(error: Exception) -> Work:
    async def job() -> None:
        raise error

    return job


@pytest.fixture
async def jobs() -> AsyncIterator[BackgroundTasks]:
    jobs = BackgroundTasks()
    yield jobs
    await jobs.aclose()


async def test_jobs_are_done_one_after_the_other(jobs: BackgroundTasks) -> None:
    first, second = Gate(), Gate()
    assert jobs.request(("first",), first)
    assert jobs.request(("second",), second)
    await wait_for(lambda: first.begun == 1, what="the first job to begin")
    assert second.begun == 0
    first.opened.set()
    second.opened.set()
    await wait_for(lambda: second.ended == 1, what="the second job to end")


async def test_a_job_that_waits_or_runs_is_not_requested_twice(jobs: BackgroundTasks) -> None:
    running, waiting = Gate(), Gate()
    assert jobs.request(("a", "alice"), running)
    await wait_for(lambda: running.begun == 1, what="the job to begin")
    assert not jobs.request(("a", "alice"), running)
    assert jobs.request(("a", "bob"), waiting)
    assert not jobs.request(("a", "bob"), waiting)
    running.opened.set()
    waiting.opened.set()
    await wait_for(lambda: waiting.ended == 1, what="both jobs to end")
    assert (running.begun, waiting.begun) == (1, 1)


async def test_a_job_that_is_done_can_be_requested_again(jobs: BackgroundTasks) -> None:
    gate = Gate()
    gate.opened.set()
    assert jobs.request(("a",), gate)
    await wait_for(lambda: gate.ended == 1, what="the job to end")
    assert jobs.request(("a",), gate)
    await wait_for(lambda: gate.ended == 2, what="the job to end again")


async def test_the_queue_is_bounded(jobs: BackgroundTasks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_tasks, "WAITING_MAX", 2)
    gate = Gate()
    assert jobs.request(("running",), gate)
    await wait_for(lambda: gate.begun == 1, what="the job to begin")
    assert [jobs.request((f"waiting {number}",), gate) for number in range(3)] == [True, True, False]


@pytest.mark.parametrize("error", [ConflictError("no room"), ZeroDivisionError("a defect")])
async def test_an_error_is_logged_and_remembered_and_the_next_job_is_done(
    jobs: BackgroundTasks, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    gate = Gate()
    gate.opened.set()
    with caplog.at_level(logging.WARNING, "mnemic.background_tasks"):
        assert jobs.request(("failing", "alice"), failing(error))
        assert jobs.request(("next",), gate)
        await wait_for(lambda: gate.ended == 1, what="the next job to end")
    assert jobs.failure(("failing", "alice")) is error
    assert jobs.failure(("next",)) is None
    (record,) = [record for record in caplog.records if record.name == "mnemic.background_tasks"]
    assert "failing" in record.getMessage()
    assert "alice" not in record.getMessage()


async def test_a_failed_task_backs_off_before_it_is_retried(
    jobs: BackgroundTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert jobs.request(("a",), failing(ConflictError("no")))
    await wait_for(lambda: jobs.failure(("a",)) is not None, what="the job to fail")
    gate = Gate()
    gate.opened.set()
    assert not jobs.request(("a",), gate)
    monkeypatch.setattr(background_tasks, "BACKOFF_S", 0.0)
    assert jobs.request(("a",), gate)
    await wait_for(lambda: gate.ended == 1, what="the job to be done after all")


async def test_only_so_many_failures_are_remembered(
    jobs: BackgroundTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_tasks, "FAILURES_MAX", 2)
    for name in "abc":
        jobs.request((name,), failing(ConflictError(name)))
    await wait_for(lambda: jobs.failure(("c",)) is not None, what="all of them to fail")
    assert [jobs.failure((name,)) is None for name in "abc"] == [True, False, False]


async def test_closing_cancels_the_running_task_and_drops_waiting_ones() -> None:
    jobs, running, waiting = BackgroundTasks(), Gate(), Gate()
    jobs.request(("running",), running)
    jobs.request(("waiting",), waiting)
    await wait_for(lambda: running.begun == 1, what="the job to begin")
    await jobs.aclose()
    running.opened.set()
    assert (running.ended, waiting.begun) == (0, 0)
    assert not jobs.request(("late",), waiting)


async def test_closing_runs_the_tasks_that_must_not_be_lost_once_and_last() -> None:
    jobs, order = BackgroundTasks(), list[str]()

    async def interrupted() -> None:
        order.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            order.append("cancelled")

    async def flush() -> None:
        order.append("flushed")

    jobs.on_close(("broken",), failing(ConflictError("no")))
    jobs.on_close(("flush",), flush)
    jobs.request(("running",), interrupted)
    await wait_for(lambda: order == ["begun"], what="the job to begin")
    await jobs.aclose()
    await jobs.aclose()
    assert order == ["begun", "cancelled", "flushed"]


async def test_closing_does_not_wait_for_ever(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background_tasks, "CLOSE_TIMEOUT_S", 0.05)
    jobs, begun, released = BackgroundTasks(), asyncio.Event(), asyncio.Event()

    async def stubborn() -> None:
        begun.set()
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    jobs.request(("stubborn",), stubborn)
    jobs.on_close(("endless",), asyncio.Event().wait)
    await begun.wait()
    with caplog.at_level(logging.WARNING, "mnemic.background_tasks"):
        await jobs.aclose()
    assert "did not end" in caplog.text
    assert isinstance(jobs.failure(("endless",)), TimeoutError)
    released.set()
    assert jobs._task is not None
    await jobs._task


async def test_requests_are_accepted_after_settling(jobs: BackgroundTasks) -> None:
    interrupted, gate = Gate(), Gate()
    jobs.request(("a",), interrupted)
    await wait_for(lambda: interrupted.begun == 1, what="the job to begin")
    await jobs.settle()
    gate.opened.set()
    assert jobs.request(("a",), gate)
    await wait_for(lambda: gate.ended == 1, what="the job to end")


@pytest.fixture
def tenant_database(database: Database, tenant_a: Tenant) -> TenantDatabase:
    return TenantDatabase(database, tenant_a)


@pytest.fixture
def memory(
    database: Database, tenant_a: Tenant, admin_conninfo: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncMemory:
    """A memory for which an owner is large early, and that knows its administrator."""
    monkeypatch.setattr(indexing, "INDEX_MIN_ROWS", ROWS_MIN)
    monkeypatch.setattr(indexing, "INDEX_KEEP_ROWS", ROWS_MIN // 2)
    monkeypatch.setattr(indexing, "admin_conninfo", lambda place, settings: admin_conninfo)
    return opened(database, tenant_a, embedder="test")


async def fill(memory: AsyncMemory, owner: str, count: int) -> None:
    place = core_of(memory).storage
    await give_vectors(place.database, place.tenant, owner, clustered(count, seed=1))


async def test_an_owner_gets_an_index_when_it_has_more_vectors_than_the_limit(memory: AsyncMemory) -> None:
    core = core_of(memory)
    assert await index_owner(core, "alice") is None, "the model was never used"
    await fill(memory, "alice", ROWS_MIN)
    assert await index_owner(core, "alice") is None
    await fill(memory, "alice", 1)
    assert await index_owner(core, "alice")
    assert await index_owner(core, "alice") == 0.0


async def test_a_requested_index_is_built_in_the_background(memory: AsyncMemory, database: Database) -> None:
    await fill(memory, "alice", ROWS_MIN + 1)
    core = core_of(memory)
    assert core.background_tasks.request(("vector_index", "alice"), lambda: index_owner(core, "alice"))
    task = core.background_tasks._task
    assert task is not None
    await task
    (alice,) = (await survey_indexes(core.storage.tenant_database, MODEL)).owners
    assert (alice.owner, alice.vector_count, alice.size_bytes is not None) == ("alice", ROWS_MIN + 1, True)


async def test_the_survey_lists_missing_indexes_and_leftovers(
    memory: AsyncMemory, database: Database, tenant_b: Tenant
) -> None:
    core = core_of(memory)
    for owner, count in {
        "large": ROWS_MIN + 2,
        "shrunk": ROWS_MIN + 1,
        "middling": ROWS_MIN,
        "small": 3,
    }.items():
        await fill(memory, owner, count)
    await give_vectors(database, tenant_b, "foreign", clustered(ROWS_MIN + 1, seed=1))
    await index_owner(core, "shrunk")
    survey = await survey_indexes(core.storage.tenant_database, MODEL)
    assert [each.owner for each in survey.owners] == ["large", "shrunk"]
    assert [each.owner for each in survey.missing] == ["large"]
    assert (survey.index_count, survey.leftovers) == (1, ())
    async with database.transaction(core.storage.tenant, maintenance=True) as transaction:
        await transaction.rows("owners.erase", {"owner": "shrunk"})
    survey = await survey_indexes(core.storage.tenant_database, MODEL)
    assert (len(survey.leftovers), [each.owner for each in survey.owners]) == (1, ["large"])


async def test_the_index_of_an_erased_owner_is_dropped(
    memory: AsyncMemory, admin: AppConnection, tenant_database: TenantDatabase
) -> None:
    for owner in ("alice", "bob"):
        await fill(memory, owner, ROWS_MIN + 1)
        await index_owner(core_of(memory), owner)
    await memory.admin.erase("bob", mode="archive")
    assert admin.execute(INDEXES).fetchall() == [(2,)]
    await memory.admin.erase("bob")
    assert admin.execute(INDEXES).fetchall() == [(1,)]
    (alice,) = (await survey_indexes(tenant_database, MODEL)).owners
    assert alice.size_bytes is not None


async def test_an_index_that_cannot_be_dropped_does_not_fail_the_erasure(
    memory: AsyncMemory,
    admin: AppConnection,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await fill(memory, "alice", ROWS_MIN + 1)
    await index_owner(core_of(memory), "alice")
    plain_login = core_of(memory).storage.database.access.conninfo()
    monkeypatch.setattr(indexing, "admin_conninfo", lambda place, settings: plain_login)
    receipt = await memory.admin.erase("alice")
    assert receipt.rows["state.memories"] == ROWS_MIN + 1
    assert admin.execute(INDEXES).fetchall() == [(1,)]
    assert "mnemic index" in caplog.text


async def test_without_an_administrator_the_request_fails_and_backs_off(
    database: Database, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "INDEX_MIN_ROWS", ROWS_MIN)
    core = core_of(opened(database, tenant_a, embedder="test"))
    await give_vectors(database, tenant_a, "alice", clustered(ROWS_MIN + 1, seed=1))
    with pytest.raises(ConfigurationError):
        await index_owner(core, "alice")


async def test_closing_a_memory_ends_its_background_tasks_before_the_storage(
    database: Database, tenant_a: Tenant
) -> None:
    core = core_of(opened(database, tenant_a))
    seen: list[str] = []

    async def flush() -> None:
        seen.append(core.storage.tenant.name)

    gate = Gate()
    core.background_tasks.on_close(("flush",), flush)
    core.background_tasks.request(("endless",), gate)
    await wait_for(lambda: gate.begun == 1, what="the job to begin")
    await core.aclose()
    assert seen == [tenant_a.name]
    assert not core.background_tasks.request(("late",), gate)
    with pytest.raises(ClosedError):
        _ = core.storage
