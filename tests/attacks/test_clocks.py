"""A server whose clock jumps deletes nothing early.

The clock of PostgreSQL cannot be set here. Moving all stored times into the past has the same effect as
moving the clock ahead.
"""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.govern import idempotent_requests
from mnemic.govern.idempotent_requests import IdempotentRequest, StartedAttempt
from mnemic.jobs.handlers import RunningJob
from mnemic.maintenance import jobs as maintenance
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.identity import new_id
from tests.conftest import AppConnection
from tests.opened import core_of, opened

TIMES = (
    ("queue.events", "at"),
    ("queue.event_inbox", "at"),
    ("queue.finished_jobs", "finished_at"),
    ("queue.webhook_deliveries", "at"),
    ("queue.idempotent_requests", "started_at"),
    ("state.conversations", "last_turn_at"),
    ("mnemic.retention_clock", "seen_at"),
    ("mnemic.retention_clock", "retention_time"),
)
YEAR = 365
FINISHED_JOB = """
    INSERT INTO queue.finished_jobs (
        tenant_id, job_id, type, payload, priority, run_at, state, attempts, max_attempts, claims, created_at
    ) VALUES (%s, mnemic.new_id(), 'sync.run', '{}', 0, now(), 'done', 1, 5, 1, now())
"""


@pytest.fixture
async def memory(database: Database, tenant_a: Tenant, admin: AppConnection) -> AsyncMemory:
    """A memory with a row of everything that retention deletes or archives, after its first maintenance."""
    memory = opened(database, tenant_a, embedder="test")
    await memory.retain("Alice lives in Berlin.", conversation="c")
    await memory.events.list()
    admin.execute(FINISHED_JOB, [memory.tenant.id])
    request = IdempotentRequest(new_id(), bytes(32), "alice")
    tenant_database = core_of(memory).storage.tenant_database
    assert isinstance(await idempotent_requests.begin(tenant_database, request), StartedAttempt)
    await maintain(memory)
    return memory


def move_clock(admin: AppConnection, days: float) -> None:
    """Move the server's clock, as seen from all stored times."""
    for table, column in TIMES:
        admin.execute(f"UPDATE {table} SET {column} = {column} - %s".encode(), [timedelta(days=days)])


async def maintain(memory: AsyncMemory) -> dict[str, int]:
    """Run the daily jobs; returns what they deleted or archived."""
    core, job = core_of(memory), RunningJob(uuid4(), "maintenance.test", {}, None, 1, memory.tenant)
    done: dict[str, Any] = {}
    for work in (maintenance.prune, maintenance.clean_up, maintenance.rotate_log_partitions):
        outcome = await work(core, job)
        assert isinstance(outcome, dict)
        done |= outcome
    harmless = {"made_count", "compared_count", "counted_owner_count"}
    return {name: count for name, count in done.items() if count and name not in harmless}


async def test_a_jump_ahead_deletes_nothing(
    memory: AsyncMemory, admin: AppConnection, subtests: pytest.Subtests
) -> None:
    for days in (4, 31, YEAR, 50 * YEAR):
        with subtests.test(f"{days} days"):
            move_clock(admin, days)
            assert await maintain(memory) == {}
            move_clock(admin, -days)
            assert await maintain(memory) == {}


async def test_a_jump_ahead_drops_no_day_of_the_memory_log(memory: AsyncMemory, admin: AppConnection) -> None:
    # The clock showed the time 100 days ago, and has jumped to today.
    async with core_of(memory).storage.tenant_database.transaction() as transaction:
        await transaction.connection.execute(b"SELECT mnemic.make_log_partitions(current_date - 100, 3)")
    admin.execute(
        "UPDATE mnemic.retention_clock SET seen_at = now() - interval '100 days',"
        " retention_time = now() - interval '100 days'"
    )
    assert "dropped_count" not in await maintain(memory)


async def test_a_new_tenant_does_not_confirm_a_jump(
    memory: AsyncMemory, database: Database, admin: AppConnection
) -> None:
    move_clock(admin, YEAR)
    newcomer = opened(database, await database.open_tenant("newcomer"), embedder="test")
    assert await maintain(newcomer) == {}
    assert await maintain(memory) == {}


async def test_many_runs_at_once_do_not_confirm_a_jump(memory: AsyncMemory, admin: AppConnection) -> None:
    move_clock(admin, YEAR)
    for _ in range(20):
        assert await maintain(memory) == {}


async def test_a_clock_that_swings_deletes_nothing(memory: AsyncMemory, admin: AppConnection) -> None:
    for _ in range(5):
        move_clock(admin, YEAR)
        assert await maintain(memory) == {}
        move_clock(admin, -YEAR)
        assert await maintain(memory) == {}


async def test_a_jump_is_followed_after_a_week_of_normal_days(
    memory: AsyncMemory, admin: AppConnection
) -> None:
    move_clock(admin, YEAR)
    for _ in range(7):
        assert await maintain(memory) in ({}, {"answer_count": 1})
        move_clock(admin, 1)
    done = await maintain(memory)
    assert done["event_count"] >= 1
    assert (done["job_count"], done["conversation_count"]) == (1, 1)


async def test_without_a_jump_everything_is_deleted_in_time(
    memory: AsyncMemory, admin: AppConnection
) -> None:
    deleted: dict[str, int] = {}
    for day in range(1, 32):
        move_clock(admin, 1)
        for name in await maintain(memory):
            deleted.setdefault(name, day)
    assert (deleted["answer_count"], deleted["event_count"], deleted["job_count"]) in (
        (1, 30, 30),
        (2, 31, 31),
    )
