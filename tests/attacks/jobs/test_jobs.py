"""Attacks on the queue by SQL in a transaction of one tenant."""

import psycopg
import pytest

from mnemic.db.access import Access
from mnemic.db.tenancy import Tenant
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection, ConnectAs
from tests.opened import core_of
from tests.proofs import backend_identity, begin, prove

HELD = "SELECT * FROM mnemic.list_claimed_jobs('ghost')"

# Each works for a worker, and must not for a tenant.
OF_WORKERS = (
    HELD,
    "SELECT mnemic.register_worker('ghost', '{work}')",
    "SELECT mnemic.record_heartbeat('ghost', '{work}')",
    "SELECT * FROM mnemic.list_workers()",
    "SELECT mnemic.remove_worker('ghost', NULL)",
    "SELECT mnemic.promote_jobs(NULL, 10)",
    "SELECT * FROM mnemic.tenant_names(ARRAY['00000000-0000-0000-0000-000000000000']::uuid[])",
    "SELECT mnemic.record_job_progress('ghost', '[]')",
    "SELECT mnemic.requeue_jobs_of_dead_workers()",
    "SELECT mnemic.dead_letter_unknown_jobs('0', 10)",
    "SELECT mnemic.prune_jobs(1, 10)",
)

# What not even a worker's proof lets the application do by itself.
OF_NOBODY = (
    "SELECT * FROM mnemic.claim_jobs('ghost', '{work}', 10, NULL, NULL)",
    "SELECT mnemic.settle_jobs('ghost', '[]')",
    "SELECT mnemic.signature('working', 'queue', mnemic.transaction_identity())",
    "SELECT mnemic.requeue_jobs('ghost', '[]')",
    "SELECT mnemic.tenants_with_jobs('{work}', 10, NULL)",
    "TABLE mnemic.workers",
    "DELETE FROM mnemic.workers",
    "DELETE FROM queue.jobs",
    "UPDATE queue.jobs SET state = 'waiting'",
    "UPDATE queue.jobs SET cancel_requested = true",
    "INSERT INTO queue.jobs (tenant_id, type, worker) VALUES (mnemic.current_tenant(), 'work', 'ghost')",
    "DELETE FROM queue.finished_jobs",
    "DELETE FROM queue.attempts",
    "DELETE FROM queue.job_keys",
)


@pytest.fixture
async def their_job(foreign_memory: AsyncMemory, admin: AppConnection) -> str:
    """A job of tenant B, and a worker that could take it."""
    admin.execute("INSERT INTO mnemic.workers (worker, types) VALUES ('ghost', '{work}')")
    return str((await foreign_memory.jobs.enqueue("work", {"secret": "b"}, key="k")).job_id)


def test_a_tenant_is_no_worker(
    connect_as: ConnectAs, tenant_a: Tenant, their_job: str, subtests: pytest.Subtests
) -> None:
    for statement in OF_WORKERS:
        with (
            subtests.test(statement),
            pytest.raises(psycopg.errors.InsufficientPrivilege, match="needs a proof of working"),
        ):
            connect_as(tenant_a).execute(statement.encode())


def test_a_worker_may_do_what_a_tenant_may_not(
    access: Access, their_job: str, subtests: pytest.Subtests
) -> None:
    for statement in OF_WORKERS:
        with subtests.test(statement), psycopg.connect(access.conninfo(), autocommit=True) as connection:
            prove(connection, access.key, "working", "queue", moment=begin(connection))
            connection.execute(statement.encode())
            # The next statement finds the same worker and the same job.
            connection.rollback()


def test_a_proof_of_working_for_something_else_is_none(
    access: Access, their_job: str, subtests: pytest.Subtests
) -> None:
    for subject in ("", "other", "queue "):
        with subtests.test(subject), psycopg.connect(access.conninfo(), autocommit=True) as connection:
            prove(connection, access.key, "working", subject, moment=begin(connection))
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(HELD)


TURN = "SELECT * FROM mnemic.settle_and_claim_jobs('ghost', '[]', '{work}', 10, NULL, NULL, %s)"


def test_settling_and_claiming_needs_a_signature_for_this_server_process(
    access: Access, connect_as: ConnectAs, tenant_a: Tenant, their_job: str, subtests: pytest.Subtests
) -> None:
    connection = connect_as(tenant_a)
    process = backend_identity(connection)
    with psycopg.connect(access.conninfo(), autocommit=True) as other:
        signed = {
            "nobody": None,
            "no one": "",
            "another process": access.key.signature("claim jobs", "queue", process=backend_identity(other)),
            "another purpose": access.key.proof("working", "queue", moment=process),
            "this moment": access.key.signature("claim jobs", "queue", process=begin(other)),
        }
    for whose, signature in signed.items():
        connection.execute("SAVEPOINT tried")
        with (
            subtests.test(whose),
            pytest.raises(psycopg.errors.InsufficientPrivilege, match="needs a proof of working"),
        ):
            connection.execute(TURN, [signature])
        connection.execute("ROLLBACK TO tried")


def test_nothing_of_a_signature_stays_for_who_uses_the_connection_next(
    access: Access, their_job: str
) -> None:
    with psycopg.connect(access.conninfo(), autocommit=True) as connection:
        signed = access.key.signature("claim jobs", "queue", process=backend_identity(connection))
        assert len(connection.execute(TURN, [signed]).fetchall()) == 1
        left = connection.execute(
            "SELECT current_setting('mnemic.working', true), current_setting('mnemic.working_proof', true)"
        ).fetchone()
        assert left == (None, None)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="needs a proof of working"):
            connection.execute(HELD)


ENTER = "SELECT mnemic.authenticate_tenant(%s, %s)"


def test_a_tenant_is_authenticated_only_with_its_own_signature_for_this_very_process(
    access: Access, connect_as: ConnectAs, tenant_a: Tenant, tenant_b: Tenant, subtests: pytest.Subtests
) -> None:
    connection = connect_as(tenant_a)
    process = backend_identity(connection)
    with psycopg.connect(access.conninfo(), autocommit=True) as other:
        signed = {
            "no one": "",
            "another process": access.key.signature(
                "authenticate", str(tenant_b.id), process=backend_identity(other)
            ),
            "another tenant": access.key.signature("authenticate", str(tenant_a.id), process=process),
            "claiming jobs": access.key.signature("claim jobs", str(tenant_b.id), process=process),
            "this moment": access.key.proof("tenant", str(tenant_b.id), moment=process),
        }
    for whose, signature in signed.items():
        connection.execute("SAVEPOINT tried")
        with (
            subtests.test(whose),
            pytest.raises(psycopg.errors.InsufficientPrivilege, match="signature does not hold"),
        ):
            connection.execute(ENTER, [tenant_b.id, signature])
        connection.execute("ROLLBACK TO tried")


def test_without_a_signature_nothing_is_authenticated(
    connect_as: ConnectAs, tenant_a: Tenant, tenant_b: Tenant, their_job: str
) -> None:
    connection = connect_as(tenant_a)
    connection.execute(ENTER, [tenant_b.id, None])
    assert connection.execute("SELECT mnemic.current_tenant()").fetchone() == (tenant_a.id,)
    assert connection.execute("SELECT * FROM queue.jobs").fetchall() == []


async def test_nothing_of_a_tenant_stays_on_the_connection_that_its_signed_statement_used(
    memory: AsyncMemory, access: Access, tenant_a: Tenant
) -> None:
    async with core_of(memory).storage.database._pool.connection() as connection:
        cursor = await connection.execute("SELECT mnemic.backend_identity() AS process")
        process = (await cursor.fetchone() or {})["process"]
        signed = access.key.signature("authenticate", str(tenant_a.id), process=process)
        await connection.execute(ENTER, [tenant_a.id, signed])
        left = await (await connection.execute("SELECT mnemic.current_tenant() AS tenant")).fetchone()
    assert left == {"tenant": None}


def test_the_application_cannot_update_jobs_directly(
    connect_as: ConnectAs, tenant_a: Tenant, subtests: pytest.Subtests
) -> None:
    for statement in OF_NOBODY:
        with subtests.test(statement), pytest.raises(psycopg.errors.InsufficientPrivilege):
            connect_as(tenant_a).execute(statement.encode())


def test_jobs_of_others_cannot_be_seen(
    connect_as: ConnectAs, access: Access, tenant_a: Tenant, their_job: str, subtests: pytest.Subtests
) -> None:
    for proved in ("tenant a", "nobody", "worker"):
        connection = connect_as(tenant_a if proved == "tenant a" else None)
        if proved == "worker":
            connection.rollback()
            prove(connection, access.key, "working", "queue", moment=begin(connection))
        for table in ("jobs", "finished_jobs", "attempts", "job_keys", "all_jobs", "all_attempts"):
            with subtests.test(proved, table=table):
                assert connection.execute(f"SELECT * FROM queue.{table}".encode()).fetchall() == []


def test_jobs_of_others_cannot_be_cancelled_replayed_or_added(
    connect_as: ConnectAs, tenant_a: Tenant, tenant_b: Tenant, their_job: str, admin: AppConnection
) -> None:
    connection = connect_as(tenant_a)
    assert connection.execute("SELECT mnemic.cancel_job(%s)", [their_job]).fetchone() == (None,)
    assert connection.execute("SELECT mnemic.replay_jobs(ARRAY[%s::uuid])", [their_job]).fetchone() == (0,)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        connection.execute("INSERT INTO queue.jobs (tenant_id, type) VALUES (%s, 'work')", [tenant_b.id])
    assert admin.execute("SELECT state, cancel_requested FROM queue.jobs").fetchall() == [("waiting", False)]


async def test_erasing_an_owner_leaves_the_jobs_of_its_namesake_in_another_tenant(
    memory: AsyncMemory, foreign_memory: AsyncMemory
) -> None:
    await memory.jobs.enqueue("work", owner="bob")
    theirs = await foreign_memory.jobs.enqueue("work", owner="bob")
    await memory.admin.erase("bob")
    assert await memory.jobs.list() == []
    assert (await foreign_memory.jobs.status(theirs.job_id)).state == "waiting"
