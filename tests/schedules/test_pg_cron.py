"""pg_cron ticks where it was told to. It cannot be installed here: functions of the same names stand in."""

from datetime import timedelta

import psycopg
import pytest

from mnemic.db.database import Database
from mnemic.jobs.scheduler import tick
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.schedules.conftest import JobsOf

STAND_IN = """
CREATE SCHEMA cron;
CREATE TABLE cron.job (
    jobid bigint GENERATED ALWAYS AS IDENTITY, jobname text UNIQUE, schedule text, command text
);
CREATE FUNCTION cron.schedule(job_name text, schedule text, command text) RETURNS bigint LANGUAGE sql AS $$
    INSERT INTO cron.job (jobname, schedule, command) VALUES (job_name, schedule, command)
    ON CONFLICT (jobname) DO UPDATE SET schedule = excluded.schedule, command = excluded.command
    RETURNING jobid
$$;
CREATE FUNCTION cron.unschedule(job_id bigint) RETURNS boolean LANGUAGE sql AS $$
    DELETE FROM cron.job WHERE jobid = job_id RETURNING true
$$;
"""


@pytest.fixture
def pg_cron(admin: AppConnection) -> AppConnection:
    """The superuser's connection to a database that has what stands in for pg_cron."""
    admin.execute(STAND_IN)
    return admin


def make_due(admin: AppConnection, ago: timedelta) -> None:
    admin.execute("UPDATE queue.schedules SET next_run_at = now() - %s WHERE name = 'sync'", [ago])


async def test_its_entry_ticks_and_workers_leave_it_to_that_until_it_is_late(
    memory: AsyncMemory, database: Database, pg_cron: AppConnection, jobs_of: JobsOf
) -> None:
    await memory.schedules.set("sync", "sync.run", every_s=3600)
    told = pg_cron.execute("SELECT mnemic.use_pg_cron()").fetchone()
    ((job_id, schedule, command),) = pg_cron.execute(
        "SELECT jobid, schedule, command FROM cron.job"
    ).fetchall()
    assert (told, schedule) == ((job_id,), "* * * * *")

    make_due(pg_cron, timedelta(seconds=30))
    assert await tick(database) == 0
    assert jobs_of(memory.tenant) == []
    assert pg_cron.execute(str(command).encode()).fetchone() == (1,)
    assert len(jobs_of(memory.tenant)) == 1

    make_due(pg_cron, timedelta(seconds=91))
    assert await tick(database) == 1
    assert len(jobs_of(memory.tenant)) == 2


async def test_telling_it_twice_makes_one_entry_and_leaving_it_brings_the_workers_back(
    memory: AsyncMemory, database: Database, pg_cron: AppConnection
) -> None:
    await memory.schedules.set("sync", "sync.run", every_s=3600)
    assert (
        pg_cron.execute("SELECT mnemic.use_pg_cron()").fetchone()
        == pg_cron.execute("SELECT mnemic.use_pg_cron()").fetchone()
    )
    assert pg_cron.execute("SELECT mnemic.leave_pg_cron()").fetchone() == (True,)
    assert pg_cron.execute("SELECT mnemic.leave_pg_cron()").fetchone() == (False,)
    assert pg_cron.execute("SELECT count(*) FROM cron.job").fetchone() == (0,)
    make_due(pg_cron, timedelta(seconds=1))
    assert await tick(database) == 1


def test_without_pg_cron_it_says_so(admin: AppConnection) -> None:
    with pytest.raises(psycopg.errors.UndefinedObject, match="pg_cron is not installed"):
        admin.execute("SELECT mnemic.use_pg_cron()")
