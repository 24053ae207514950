"""Ticking: once per tick however many look, none lost, whatever the clock does."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from mnemic.db.access import Access
from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.jobs.scheduler import tick
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection, ConnectAs
from tests.proofs import begin, prove
from tests.schedules.conftest import JobsOf, TickAt

MINUTE = timedelta(minutes=1)


def key_of(name: str, moment: datetime) -> str:
    return f"schedule {name} {moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


async def test_a_due_schedule_gives_a_job_with_its_payload(
    memory: AsyncMemory, database: Database, admin: AppConnection
) -> None:
    await memory.schedules.set(
        "digest", "mail.digest", cron="@hourly", payload={"to": "team"}, priority=7, owner="alice"
    )
    assert await tick(database) == 0
    admin.execute(
        "UPDATE queue.schedules SET next_run_at = now() - interval '1 minute' WHERE name = 'digest'"
    )
    assert await tick(database) == 1
    assert await tick(database) == 0
    after = await memory.schedules.get("digest")
    assert after is not None
    assert after.next_run_at > datetime.now(UTC)
    assert after.last_run_at is not None
    found = admin.execute("SELECT job_id, type, payload, priority, owner, state FROM queue.jobs").fetchall()
    assert found == [(after.last_job_id, "mail.digest", {"to": "team"}, 7, "alice", "waiting")]


async def test_missed_ticks_come_once_and_then_as_planned(
    memory: AsyncMemory, tick_at: TickAt, jobs_of: JobsOf
) -> None:
    made = await memory.schedules.set("sync", "sync.run", every_s=600)
    due = made.next_run_at
    tick_at(due + timedelta(days=2, minutes=3))
    last = due + timedelta(days=2)
    assert [key for key in jobs_of(memory.tenant) if "sync" in key] == [key_of("sync", last)]
    planned = await memory.schedules.get("sync")
    assert planned is not None
    assert planned.next_run_at == due + timedelta(days=2, minutes=10)


async def test_a_paused_schedule_does_not_tick(memory: AsyncMemory, tick_at: TickAt, jobs_of: JobsOf) -> None:
    made = await memory.schedules.set("sync", "sync.run", every_s=600)
    await memory.schedules.pause("sync")
    assert tick_at(made.next_run_at + MINUTE) == 0
    assert jobs_of(memory.tenant) == []


@pytest.mark.parametrize("schedulers", [1, 2, 4])
async def test_a_clock_that_jumps_doubles_no_tick_and_loses_none(
    memory: AsyncMemory, admin_conninfo: str, jobs_of: JobsOf, schedulers: int
) -> None:
    """Forward and back by hours, in the middle of ticks: every minute's tick is there in the end, once."""
    for number in range(3):
        await memory.schedules.set(f"sync {number}", "sync.run", cron="* * * * *")
    begun = datetime.now(UTC).replace(second=0, microsecond=0) + MINUTE
    moments = jumping_clock(begun, minutes=40, dice=random.Random(schedulers))
    abreast = threading.Barrier(schedulers, timeout=60)

    def look() -> None:
        with psycopg.connect(admin_conninfo, autocommit=True) as connection:
            for moment in moments:
                abreast.wait()
                connection.execute("SELECT mnemic.run_due_schedules(%s)", [moment])

    with ThreadPoolExecutor(schedulers) as pool:
        for done in [pool.submit(look) for _ in range(schedulers)]:
            done.result(timeout=300)
    keys = jobs_of(memory.tenant)
    assert len(keys) == len(set(keys))
    wanted = {
        key_of(f"sync {number}", begun + minute * MINUTE) for number in range(3) for minute in range(40)
    }
    assert wanted - set(keys) == set()


def jumping_clock(begun: datetime, *, minutes: int, dice: random.Random) -> list[datetime]:
    """What the clock shows whenever somebody looks: twice a minute the truth, and in between often not."""
    shown: list[datetime] = []
    for minute in range(minutes):
        truth = begun + minute * MINUTE
        away = timedelta(minutes=dice.choice([1, 2, 15, 60, 150]), seconds=dice.choice([0, 30]))
        shown += [truth + away * dice.choice([-1, 0, 1]), truth, truth + timedelta(seconds=30)]
    return shown


async def test_an_interval_keeps_to_its_grid_when_the_clock_goes_back(
    memory: AsyncMemory, tick_at: TickAt, jobs_of: JobsOf
) -> None:
    first = (await memory.schedules.set("sync", "sync.run", every_s=600)).next_run_at
    assert tick_at(first) == 1
    assert tick_at(first + timedelta(hours=0.9)) == 1
    assert tick_at(first + timedelta(minutes=5)) == 0  # The clock went back: planned anew.
    for step in range(1, 7):
        tick_at(first + step * timedelta(minutes=10))
    keys = [key for key in jobs_of(memory.tenant) if key.startswith("schedule sync ")]
    assert sorted(keys) == [key_of("sync", first + step * timedelta(minutes=10)) for step in range(7)]


async def test_ticks_do_not_pile_up_while_nobody_works(
    memory: AsyncMemory, admin: AppConnection, tick_at: TickAt, jobs_of: JobsOf
) -> None:
    due = (await memory.schedules.set("sync", "sync.run", every_s=600)).next_run_at
    tick_at(due)
    tick_at(due + timedelta(minutes=10))
    assert len(jobs_of(memory.tenant)) == 2
    admin.execute("UPDATE queue.jobs SET run_at = now() - interval '61 minutes'")
    assert tick_at(due + timedelta(minutes=20)) == 0
    admin.execute("DELETE FROM queue.jobs")  # As when they are done.
    assert tick_at(due + timedelta(minutes=30)) == 1
    assert jobs_of(memory.tenant) == [key_of("sync", due + timedelta(minutes=30))]


async def test_a_tick_that_is_rolled_back_comes_again(memory: AsyncMemory, admin: AppConnection) -> None:
    made = await memory.schedules.set("sync", "sync.run", every_s=600)
    with admin.transaction(force_rollback=True):
        admin.execute("SELECT mnemic.run_due_schedules(%s)", [made.next_run_at])
    assert admin.execute("SELECT count(*) FROM queue.jobs").fetchone() == (0,)
    assert admin.execute("SELECT mnemic.run_due_schedules(%s)", [made.next_run_at]).fetchone() == (1,)


async def test_one_that_cannot_tick_is_paused_with_the_reason_and_stops_nobody(
    memory: AsyncMemory, admin: AppConnection, tick_at: TickAt
) -> None:
    broken = await memory.schedules.set("broken", "sync.run", cron="@hourly")
    await memory.schedules.set("sound", "sync.run", cron="@hourly")
    admin.execute("UPDATE queue.schedules SET timezone = 'Europe/Atlantis' WHERE name = 'broken'")
    assert tick_at(broken.next_run_at) >= 1
    paused = await memory.schedules.get("broken")
    assert paused is not None
    assert not paused.enabled
    assert "Europe/Atlantis" in str(paused.problem)
    sound = await memory.schedules.get("sound")
    assert sound is not None
    assert sound.last_job_id is not None
    repaired = await memory.schedules.set("broken", "sync.run", cron="@hourly", enabled=True)
    assert (repaired.enabled, repaired.problem) == (True, None)


async def test_ticking_needs_the_proof_of_a_worker(
    connect_as: ConnectAs, tenant_a: Tenant, access: Access
) -> None:
    for tenant in (None, tenant_a):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="needs a proof of working"):
            connect_as(tenant).execute("SELECT mnemic.run_due_schedules()")
    with psycopg.connect(access.conninfo(), autocommit=True) as connection:
        moment = begin(connection)
        prove(connection, access.key, "working", "queue", moment=moment)
        assert connection.execute("SELECT mnemic.run_due_schedules()").fetchone() == (0,)
        # The proof opens the function, not the table.
        assert connection.execute("SELECT * FROM queue.schedules").fetchall() == []


async def test_an_administrator_ticks_for_all_and_is_otherwise_behind_the_wall(
    memory: AsyncMemory, foreign_memory: AsyncMemory, access: Access, admin_conninfo: str
) -> None:
    """What an administrator calls as mnemic_definer, here erasing, does not reach over to another tenant."""
    for each in (memory, foreign_memory):
        await each.schedules.set("hers", "sync.run", every_s=600, owner="alice")
    with psycopg.connect(admin_conninfo, autocommit=True) as connection:
        moment = begin(connection)
        prove(connection, access.key, "tenant", str(memory.tenant.id), moment=moment)
        prove(connection, access.key, "maintenance", str(memory.tenant.id), moment=moment)
        connection.execute("SELECT count(*) FROM mnemic.erase_owner('alice')")
        connection.execute("COMMIT")
    assert await memory.schedules.get("hers") is None
    assert await foreign_memory.schedules.get("hers") is not None


CALLS_OF_OTHERS = (
    "SELECT mnemic.enqueue_scheduled_job(schedules, now()) FROM queue.schedules",
    "SELECT mnemic.use_pg_cron()",
    "SELECT mnemic.leave_pg_cron()",
    "SELECT mnemic.drop_old_logs(1)",
    "SELECT * FROM mnemic.pg_cron_entry",
    "INSERT INTO mnemic.pg_cron_entry (cron_job_id) VALUES (1)",
)


async def test_a_tenant_cannot_call_what_is_not_for_it(
    connect_as: ConnectAs, tenant_a: Tenant, subtests: pytest.Subtests
) -> None:
    for call in CALLS_OF_OTHERS:
        with (
            subtests.test(call),
            pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported)),
        ):
            connect_as(tenant_a).execute(call.encode())


async def test_a_schedule_whose_job_is_parked_adds_no_other_one(
    memory: AsyncMemory, tenant_a: Tenant, admin: AppConnection, tick_at: TickAt, jobs_of: JobsOf
) -> None:
    await memory.schedules.set("digest", "mail.digest", every_s=900)
    start = datetime.now(UTC)
    assert tick_at(start + timedelta(seconds=901)) == 1
    admin.execute(
        "UPDATE queue.jobs SET state = 'scheduled', claims = 1, attempts = 0,"
        " run_at = now() + interval '7 hours'"
    )
    assert tick_at(start + timedelta(seconds=1_802)) == 0
    assert len(jobs_of(tenant_a)) == 1
    admin.execute("UPDATE queue.jobs SET run_at = now() - interval '1 second'")
    assert tick_at(start + timedelta(seconds=2_703)) == 1
