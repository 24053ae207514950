"""The hot queries look at what they need, however much else is in the queue."""

import json

import pytest

from mnemic.db.access import Access
from mnemic.sdk.memory import AsyncMemory
from mnemic.sql import query
from tests.conftest import AppConnection, ConnectAs
from tests.proofs import begin, prove

WAITING = 20_000
# Ten jobs are found, locked and written, with all their index entries; a scan would read far more.
PAGES_MAX = 600

FILL = f"""
    INSERT INTO queue.jobs (tenant_id, type, priority, state, run_at)
    SELECT tenant_id, kind, number %% 7, state, now()
    FROM state.tenants, generate_series(1, {WAITING // 4}) AS number,
        (VALUES ('known', 'waiting'), ('unknown', 'waiting'), ('known', 'scheduled')) AS kinds (kind, state)
    WHERE name IN ('tenant a', 'tenant b')
"""


@pytest.fixture
async def full_queue(memory: AsyncMemory, foreign_memory: AsyncMemory, admin: AppConnection) -> None:
    """Many jobs of two tenants, half of them of a type that the worker does not know."""
    admin.execute(FILL.replace("%%", "%").encode())
    admin.execute("UPDATE queue.jobs SET run_at = now() + interval '1 day' WHERE state = 'scheduled'")
    admin.execute("VACUUM ANALYZE queue.jobs")
    admin.execute("INSERT INTO mnemic.workers (worker, types) VALUES ('ghost', '{known}')")


STATEMENTS = (
    "SELECT * FROM mnemic.claim_jobs('ghost', '{known}', 10, NULL, NULL)",
    "SELECT * FROM mnemic.claim_jobs('ghost', '{known}', 10, NULL, (SELECT tenant_id FROM held LIMIT 1))",
    "SELECT mnemic.promote_jobs(NULL, 10)",
    "SELECT * FROM mnemic.list_claimed_jobs('ghost')",
    "SELECT mnemic.requeue_jobs_of_dead_workers()",
    "SELECT mnemic.settle_jobs('ghost', (SELECT jsonb_agg(to_jsonb(held)) FROM held))",
)


def test_what_a_worker_does_reads_few_pages(
    access: Access, full_queue: None, admin: AppConnection, subtests: pytest.Subtests
) -> None:
    for statement in STATEMENTS:
        with subtests.test(statement):
            assert 0 < pages_read(statement, access, admin) < PAGES_MAX


def pages_read(statement: str, access: Access, admin: AppConnection) -> int:
    """How many pages a statement of a worker that holds jobs reads; it is rolled back."""
    prove(admin, access.key, "working", "queue", moment=begin(admin))
    admin.execute(
        "CREATE TEMP TABLE held AS SELECT tenant_id, job_id, claim, 'done' AS outcome"
        " FROM mnemic.claim_jobs('ghost', '{known}', 10, NULL, NULL)"
    )
    # Who runs the functions: one to whom the policies apply.
    admin.execute("GRANT SELECT ON held TO mnemic_definer; SET LOCAL ROLE mnemic_definer")
    statement = statement.replace("FROM held", "FROM pg_temp.held")
    (plan,) = admin.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT json) {statement}".encode()).fetchone() or ()
    admin.rollback()
    (top,) = plan if isinstance(plan, list) else json.loads(str(plan))
    return int(top["Plan"]["Shared Hit Blocks"] + top["Plan"]["Shared Read Blocks"])


INDEXES = {
    "queued_jobs.list": "finished_jobs_pkey",
    "queued_jobs.dead": "finished_jobs_dead",
    "queued_jobs.get": "finished_jobs_pkey",
    "queued_jobs.attempts": "attempts_pkey",
    "queued_jobs.get_by_key": "job_keys_pkey",
}


async def test_looking_at_jobs_goes_by_an_index(
    memory: AsyncMemory,
    full_queue: None,
    admin: AppConnection,
    connect_as: ConnectAs,
    subtests: pytest.Subtests,
) -> None:
    admin.execute(
        "INSERT INTO queue.finished_jobs (tenant_id, job_id, type, payload, priority, run_at, state,"
        " attempts, max_attempts, claims, created_at)"
        " SELECT tenant_id, mnemic.new_id(), type, payload, priority, run_at,"
        " CASE number WHEN 1 THEN 'dead' ELSE 'done' END, 1, 5, 1, now()"
        " FROM queue.jobs, generate_series(1, 2) AS number"
    )
    admin.execute("ANALYZE queue.finished_jobs")
    for name, index in INDEXES.items():
        with subtests.test(name):
            text = plan_of(name, memory, connect_as)
            assert index in text
            assert "Seq Scan on jobs" not in text
            assert "Seq Scan on finished_jobs" not in text


def plan_of(name: str, memory: AsyncMemory, connect_as: ConnectAs) -> str:
    given: dict[str, object] = {
        "tenant_id": memory.tenant.id,
        "before": None,
        "state": None,
        "type": "known" if name == "queued_jobs.get_by_key" else None,
        "owner": None,
        "limit": 10,
        "key": "k",
        "job_id": "00000000-0000-0000-0000-000000000000",
    }
    connection = connect_as(memory.tenant)
    if name in ("queued_jobs.attempts", "queued_jobs.get_by_key"):
        connection.execute("SET enable_seqscan = off")
    plan = connection.execute(f"EXPLAIN {query(name)}".encode(), given).fetchall()
    return "\n".join(str(line) for (line,) in plan)
