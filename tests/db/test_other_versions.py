"""Two versions of Mnemic at once: the newer one waits or refuses, and the older one never fails unclearly."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from mnemic import Memory
from mnemic.db.migrate import migrate, read_status
from mnemic.db.schema_version import admin_session_name, digest_of, expected_digest, session_name
from mnemic.errors import DatabaseInUseError, DatabaseTooNewError, SchemaChangedError
from mnemic.sql import query
from mnemic.sql.migration_files import Migration, all_migrations, installed_files
from tests.conftest import LIMITS, AppConnection
from tests.db.other_version import (
    SOURCES,
    VersionProcess,
    run_commands,
    with_changed_definition,
    with_new_migration,
)
from tests.running_folder import running

PATIENT_S = 120.0
IMPATIENT = replace(LIMITS, other_versions_timeout_s=0)


@pytest.fixture
def folder(memory_dir: Path, tmp_path: Path) -> Iterator[Path]:
    """A data folder of one test, whose server runs all the time."""
    yield from running(memory_dir / tmp_path.name)


def open_memory(folder: Path) -> Memory:
    return Memory(data_dir=folder, owner="alice", embedder="test")


def new_migrations() -> tuple[Migration, ...]:
    number = max(migration.number for migration in all_migrations()) + 1
    return (*all_migrations(), Migration("mnemic", number, "mood", "CREATE TABLE state.moods ()"))


def test_a_newer_version_is_refused_under_a_running_older_one_and_learns_who_runs(
    folder: Path, tmp_path: Path
) -> None:
    with open_memory(folder) as memory:
        with VersionProcess(with_new_migration(tmp_path), folder, waits_s=0) as refused:
            error = refused.answer()
        assert error.startswith("DatabaseInUseError: ")
        assert f"process {os.getpid()} with Mnemic" in error
        assert "Waited 0 s (other_versions_timeout_s)" in error
        assert "mnemic migrate --disconnect" in error
        memory.retain("the older version goes on")


def test_a_newer_version_waits_until_the_older_one_has_closed_and_then_keeps_it_out(
    folder: Path, tmp_path: Path
) -> None:
    with open_memory(folder) as memory:
        process = VersionProcess(with_new_migration(tmp_path), folder, waits_s=PATIENT_S)
        assert process.answer().startswith("waiting up to 120 s for processes of another version")
        memory.retain("the older version goes on meanwhile")
    with process:
        assert process.answer() == "open"
        assert process.retain("by the newer version") == "retained"
        with pytest.raises(DatabaseTooNewError, match=r"_mood, which this version .* does not know"):
            open_memory(folder)


def test_a_disconnected_older_process_gets_a_clear_error_from_every_call(
    folder: Path, tmp_path: Path
) -> None:
    newer = with_new_migration(tmp_path)
    with open_memory(folder) as memory:
        memory.retain("before")
        done = run_commands(newer, ("migrate", "--disconnect", "--data-dir", str(folder)))
        assert "_mood" in done.stdout
        for call in (lambda: memory.retain("after"), lambda: memory.recall("before"), memory.memories.list):
            with pytest.raises(SchemaChangedError, match="Restart this process"):
                call()
    with VersionProcess(newer, folder, waits_s=0) as process:
        assert process.answer() == "open"
        assert process.count() == "1 memories"


def test_two_versions_with_the_same_tables_do_not_replace_each_others_functions(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = with_changed_definition(tmp_path)
    with open_memory(folder), VersionProcess(other, folder, waits_s=0) as refused:
        assert refused.answer().startswith("DatabaseInUseError")
    with VersionProcess(other, folder, waits_s=0) as process:
        assert process.answer() == "open"
        monkeypatch.setenv("MNEMIC_OTHER_VERSIONS_TIMEOUT_S", "0")
        with pytest.raises(DatabaseInUseError):
            open_memory(folder)


async def test_sessions_of_versions_that_did_not_state_theirs_count_as_older(
    admin_conninfo: str,
) -> None:
    with (
        psycopg.connect(admin_conninfo, application_name="mnemic"),
        pytest.raises(DatabaseInUseError, match="a process of an earlier version"),
    ):
        await migrate(admin_conninfo, IMPATIENT, migrations=new_migrations())
    assert (await read_status(admin_conninfo, LIMITS)).is_current


async def test_sessions_of_this_version_and_of_other_programs_do_not_delay_a_migration(
    admin_conninfo: str,
) -> None:
    with (
        psycopg.connect(admin_conninfo, application_name=session_name()),
        psycopg.connect(admin_conninfo, application_name=admin_session_name()),
        psycopg.connect(admin_conninfo, application_name="psql"),
    ):
        await migrate(admin_conninfo, IMPATIENT, migrations=new_migrations())


async def test_a_current_database_is_migrated_beside_other_versions_at_once(admin_conninfo: str) -> None:
    with psycopg.connect(admin_conninfo, application_name="mnemic"):
        assert (await migrate(admin_conninfo, IMPATIENT)).is_current


def test_the_database_and_this_code_compute_the_same_digest(admin: AppConnection) -> None:
    found = admin.execute(query("migrations.schema_digest")).fetchone()
    assert found == (expected_digest(),) == (digest_of(installed_files()),)


def test_the_name_of_a_session_fits_into_an_identifier() -> None:
    assert session_name().endswith(f"/{os.getpid()}")
    assert len(session_name().encode()) <= 63
    assert len(admin_session_name().encode()) <= 63


def test_backup_and_export_work_on_a_database_of_another_version_and_leave_it_alone(
    folder: Path, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """The newer code on the older database, and the older code on the newer database."""
    newer = with_new_migration(tmp_path / "newer")
    with open_memory(folder) as memory:
        memory.retain("kept in every version")
        back_up_and_export(newer, folder, tmp_path / "by the newer version")
        with subtests.test("nothing was migrated, and the older version goes on"):
            memory.retain("and more")
    run_commands(newer, ("migrate", "--data-dir", str(folder)))
    with pytest.raises(DatabaseTooNewError, match=r"migrated by Mnemic \d"):
        open_memory(folder)
    with subtests.test("the older version on the newer database"):
        back_up_and_export(SOURCES, folder, tmp_path / "by the older version")


def back_up_and_export(sources: Path, folder: Path, target: Path) -> None:
    target.mkdir()
    at = ("--data-dir", str(folder))
    done = run_commands(
        sources,
        ("backup", str(target / "all.backup"), *at),
        ("export", str(target / "alice.jsonl"), "--owner", "alice", *at),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("as it is") == 2
    assert (target / "all.backup").read_bytes().startswith(b"PGDMP")
    assert "kept in every version" in (target / "alice.jsonl").read_text()


def test_an_export_that_cannot_read_the_schema_says_which_version_can(folder: Path, tmp_path: Path) -> None:
    newer = with_new_migration(tmp_path / "newer")
    (newer / "mnemic" / "sql" / "definitions" / "owners" / "export_rows.sql").unlink()
    run_commands(newer, ("migrate", "--data-dir", str(folder)))
    target = tmp_path / "alice.jsonl"
    done = run_commands(SOURCES, ("export", str(target), "--owner", "alice", "--data-dir", str(folder)))
    assert done.returncode == 1
    assert "Export it with Mnemic" in done.stderr
    assert "`mnemic backup` works" in done.stderr
    assert not target.exists()
