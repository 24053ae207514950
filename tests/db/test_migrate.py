"""Migrations: applied once, together with their record, under a lock; contradictions are errors."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from mnemic.db.migrate import migrate, read_status
from mnemic.db.tenancy import SigningKey
from mnemic.errors import (
    ConfigurationError,
    DatabaseTooNewError,
    DatabaseUnavailableError,
    InvalidInputError,
    MigrationChangedError,
)
from mnemic.sql.migration_files import Migration, all_definitions, all_migrations
from tests.conftest import LIMITS, AppConnection

PROCESSES = 8
PROCESS_TIMEOUT_S = 300


def extra(number: int, sql: LiteralString, *, title: str = "thing") -> Migration:
    return Migration("extra", number, title, sql)


def schemas(connection: AppConnection) -> set[str]:
    rows = connection.execute("SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'")
    return {str(name) for (name,) in rows.fetchall()}


def exists(connection: AppConnection, table: str) -> bool:
    return connection.execute("SELECT to_regclass(%s) IS NOT NULL", (table,)).fetchone() == (True,)


async def test_a_fresh_database_gets_every_migration_and_a_second_run_does_nothing(
    empty_conninfo: str,
) -> None:
    done = await migrate(empty_conninfo, LIMITS)
    assert done.pending == all_migrations()
    assert done.outdated == all_definitions()

    before = await read_status(empty_conninfo, LIMITS)
    assert before.is_current
    assert await migrate(empty_conninfo, LIMITS) == before
    assert await read_status(empty_conninfo, LIMITS) == before


async def test_a_second_run_keeps_the_signing_key(admin_conninfo: str, admin: AppConnection) -> None:
    read_key = "SELECT key FROM mnemic.signing_key"
    before = admin.execute(read_key).fetchall()
    await migrate(admin_conninfo, LIMITS)
    assert admin.execute(read_key).fetchall() == before


async def test_the_status_of_an_empty_database_is_all_pending_and_changes_nothing(
    empty_conninfo: str,
) -> None:
    status = await read_status(empty_conninfo, LIMITS)
    assert status.applied == ()
    assert status.pending == all_migrations()
    assert status.outdated == all_definitions()
    with psycopg.connect(empty_conninfo) as connection:
        assert schemas(connection) == {"public"}


async def test_the_status_names_what_is_applied(admin_conninfo: str) -> None:
    status = await read_status(admin_conninfo, LIMITS)
    assert status.pending == ()
    assert status.applied_labels == [migration.label for migration in all_migrations()]
    assert status.applied[0].checksum == all_migrations()[0].checksum


async def test_a_file_edited_after_it_was_applied_is_an_error(admin_conninfo: str) -> None:
    first, *others = all_migrations()
    edited = replace(first, sql=first.sql + "\n-- a harmless remark")
    with pytest.raises(MigrationChangedError, match=first.label):
        await migrate(admin_conninfo, LIMITS, migrations=(edited, *others))


async def test_a_changed_checksum_in_the_record_is_an_error_everywhere(
    admin_conninfo: str, admin: AppConnection
) -> None:
    admin.execute("UPDATE mnemic.migrations SET checksum = repeat('0', 64) WHERE number = 1")
    with pytest.raises(MigrationChangedError):
        await read_status(admin_conninfo, LIMITS)
    with pytest.raises(MigrationChangedError):
        await migrate(admin_conninfo, LIMITS)


async def test_a_database_migrated_by_a_newer_version_is_an_error(
    admin_conninfo: str, admin: AppConnection
) -> None:
    admin.execute("INSERT INTO mnemic.migrations VALUES ('mnemic', 9999, 'future', repeat('0', 64))")
    with pytest.raises(DatabaseTooNewError, match=r"9999_future.*Upgrade Mnemic"):
        await read_status(admin_conninfo, LIMITS)
    with pytest.raises(DatabaseTooNewError):
        await migrate(admin_conninfo, LIMITS)


async def test_migrations_of_an_extension_that_is_not_installed_here_are_left_alone(
    admin_conninfo: str, admin: AppConnection
) -> None:
    admin.execute("INSERT INTO mnemic.migrations VALUES ('billing', 1, 'invoices', repeat('0', 64))")
    assert (await migrate(admin_conninfo, LIMITS)).is_current


async def test_a_failing_migration_is_rolled_back_and_stays_pending(
    admin_conninfo: str, admin: AppConnection
) -> None:
    good = extra(1, "CREATE TABLE state.first ()")
    bad = extra(2, "CREATE TABLE state.second (id int); INSERT INTO state.second SELECT 1 / 0;")
    core = all_migrations()
    with pytest.raises(InvalidInputError, match="division by zero"):
        await migrate(admin_conninfo, LIMITS, migrations=(*core, good, bad))
    assert not exists(admin, "state.first")
    assert not exists(admin, "state.second")

    mended = replace(bad, sql="CREATE TABLE state.second ()")
    assert (await migrate(admin_conninfo, LIMITS, migrations=(*core, good, mended))).pending == (good, mended)
    assert exists(admin, "state.second")


async def test_a_migration_whose_connection_is_lost_stays_pending(
    admin_conninfo: str, admin: AppConnection
) -> None:
    deadly = extra(1, "CREATE TABLE state.first (); SELECT pg_terminate_backend(pg_backend_pid())")
    core = all_migrations()
    with pytest.raises(DatabaseUnavailableError):
        await migrate(admin_conninfo, LIMITS, migrations=(*core, deadly))
    assert not exists(admin, "state.first")

    mended = replace(deadly, sql="CREATE TABLE state.first ()")
    assert (await migrate(admin_conninfo, LIMITS, migrations=(*core, mended))).pending == (mended,)


async def test_a_given_signing_key_is_stored_once_and_then_compared(empty_conninfo: str) -> None:
    key = SigningKey.new()
    await migrate(empty_conninfo, LIMITS, key=key)
    await migrate(empty_conninfo, LIMITS, key=key)
    with psycopg.connect(empty_conninfo) as connection:
        assert connection.execute("SELECT key FROM mnemic.signing_key").fetchall() == [(key.secret,)]
    with pytest.raises(ConfigurationError, match="tenant_key differs"):
        await migrate(empty_conninfo, LIMITS, key=SigningKey.new())


def test_eight_processes_migrate_one_database_at_once_and_one_does_the_work(empty_conninfo: str) -> None:
    command = [sys.executable, str(Path(__file__).with_name("migrating_process.py")), empty_conninfo]
    processes = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=PROCESS_TIMEOUT_S) for process in processes]
    assert [process.returncode for process in processes] == [0] * PROCESSES, answers
    applied = sorted(int(output) for output, _ in answers)
    assert applied == [0] * (PROCESSES - 1) + [len(all_migrations())]
