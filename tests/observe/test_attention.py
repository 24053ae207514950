"""What wants the attention of a person: each kind is found and counted, up to a limit."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.maintenance import attention
from mnemic.sdk.memory import AsyncMemory
from mnemic.sql import query
from mnemic.types.attention import CONCERN_KINDS, COUNT_MAX, Concern
from tests.conftest import AppConnection, ConnectAs
from tests.opened import core_of, opened

LONG_AGO = datetime.now(UTC) - timedelta(days=2)
DEAD = """
INSERT INTO queue.finished_jobs (
    tenant_id, job_id, type, payload, priority, run_at, state, attempts, max_attempts, claims, created_at,
    finished_at
)
SELECT %(tenant_id)s, mnemic.new_id(), 'sync', '{}', 0, now(), 'dead', 5, 5, 5, now(), %(at)s
FROM generate_series(1, %(count)s)
"""
SCHEDULE = """
INSERT INTO queue.schedules (tenant_id, name, job_type, every_s, next_run_at, last_job_id)
SELECT %(tenant_id)s, 'sync', 'sync', 60, now() + interval '1 minute', job_id FROM queue.finished_jobs LIMIT 1
"""
LATE = """
INSERT INTO queue.jobs (tenant_id, job_id, type, run_at)
VALUES (%(tenant_id)s, mnemic.new_id(), 'sync', %(at)s)
"""
ACT = """
INSERT INTO traces.audit_log (tenant_id, audit_id, process, action, target, phase, at)
SELECT %(tenant_id)s, mnemic.new_id(), 'sdk', 'erase_owner', 'x', 'intent', %(at)s
FROM generate_series(1, %(count)s)
"""
BACKLOG = """
INSERT INTO queue.embedding_backlog (tenant_id, memory_id, last_error, marked_at)
SELECT tenant_id, memory_id, 'none', %(at)s FROM state.memories WHERE tenant_id = %(tenant_id)s
"""
CONSOLIDATION = """
INSERT INTO queue.schedules (tenant_id, name, job_type, every_s, next_run_at, last_run_at)
VALUES (%(tenant_id)s, 'consolidation', 'mind.consolidate', 900, now() - interval '1 day', %(at)s)
"""


@pytest.fixture
def memory(database: Database, tenant_a: Tenant) -> AsyncMemory:
    return opened(database, tenant_a, owner=None, embedder="test")


async def found(memory: AsyncMemory) -> dict[str, Concern]:
    return {concern.kind: concern for concern in await memory.metrics.attention()}


async def test_every_kind_is_found_most_urgent_first(
    memory: AsyncMemory, foreign_memory: AsyncMemory, tenant_a: Tenant, admin: AppConnection
) -> None:
    assert await memory.metrics.attention() == []
    await memory.retain([{"role": "user", "content": "I keep bees."}], conversation="c", owner="alice")
    assert await memory.metrics.attention() == []
    for statement, count in ((DEAD, 2), (SCHEDULE, 1), (LATE, 1), (ACT, 1), (BACKLOG, 1), (CONSOLIDATION, 1)):
        admin.execute(statement.encode(), {"tenant_id": tenant_a.id, "at": LONG_AGO, "count": count})
    await memory.spend.set_cap(0)
    concerns = await memory.metrics.attention()
    assert [concern.kind for concern in concerns] == [kind for kind in CONCERN_KINDS if kind != "disk"]
    assert {concern.kind: concern.count for concern in concerns if concern.count != 1} == {"dead_jobs": 2}
    dated = [concern for concern in concerns if concern.kind != "spend"]
    assert all(concern.oldest_at == LONG_AGO for concern in dated)
    assert await foreign_memory.metrics.attention() == []


async def test_young_acts_and_jobs_are_no_concern(
    memory: AsyncMemory, tenant_a: Tenant, admin: AppConnection
) -> None:
    for statement in (LATE, ACT):
        admin.execute(statement.encode(), {"tenant_id": tenant_a.id, "at": datetime.now(UTC), "count": 1})
    assert await memory.metrics.attention() == []


async def test_counts_stop_at_a_limit(memory: AsyncMemory, tenant_a: Tenant, admin: AppConnection) -> None:
    admin.execute(DEAD.encode(), {"tenant_id": tenant_a.id, "at": LONG_AGO, "count": COUNT_MAX + 500})
    assert (await found(memory))["dead_jobs"].count == COUNT_MAX


async def test_spend_is_a_concern_near_a_cap(
    memory: AsyncMemory, tenant_a: Tenant, admin: AppConnection
) -> None:
    await memory.spend.set_cap("10.00")
    await memory.spend.set_cap("100.00", period="month")
    spent = "UPDATE state.spend_accounts SET day_spent_microdollars = %s WHERE tenant_id = %s"
    admin.execute(spent, [7_900_000, tenant_a.id])
    assert await memory.metrics.attention() == []
    admin.execute(spent, [8_500_000, tenant_a.id])
    concern = (await found(memory))["spend"]
    assert concern.count == 1
    assert concern.share == pytest.approx(0.85)
    admin.execute("UPDATE state.spend_accounts SET day = day - 1")
    assert await memory.metrics.attention() == []


async def test_a_full_disk_is_a_concern(
    database: Database, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened(database, tenant_a, settings={"min_free_disk_bytes": 0})
    blocks = SimpleNamespace(f_bavail=500, f_blocks=1_000, f_frsize=4096)
    monkeypatch.setattr("os.statvfs", lambda folder: blocks)
    assert attention._disk(core_of(memory)) is None  # Not the embedded server.
    core: Any = SimpleNamespace(storage=SimpleNamespace(server=object()), settings=core_of(memory).settings)
    assert attention._disk(core) is None
    blocks.f_bavail = 50
    assert attention._disk(core) == Concern("disk", 1, share=0.95)


@pytest.mark.parametrize("index", ["finished_jobs_dead", "audit_log_phase"])
def test_counting_uses_indexes(
    connect_as: ConnectAs, tenant_a: Tenant, admin: AppConnection, index: str
) -> None:
    admin.execute(DEAD.encode(), {"tenant_id": tenant_a.id, "at": LONG_AGO, "count": 3_000})
    admin.execute("UPDATE queue.finished_jobs SET state = 'done' WHERE attempts = 5")
    admin.execute(ACT.encode(), {"tenant_id": tenant_a.id, "at": LONG_AGO, "count": 5_000})
    admin.execute("ANALYZE queue.finished_jobs, traces.audit_log")
    connection: psycopg.Connection[Any] = connect_as(tenant_a)
    parameters = {
        "tenant_id": tenant_a.id,
        "limit": COUNT_MAX,
        "late_s": 900,
        "unfinished_s": 3600,
        "acts_days": 30,
        "idle_s": 86_400,
    }
    plan = connection.execute(f"EXPLAIN {query('attention.counts')}".encode(), parameters).fetchall()
    text = "\n".join(line for (line,) in plan)
    assert index in text, text
