"""`mnemic migrate`, `doctor`, `stop` and `demo`, and what all commands do about places and secrets."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from uuid import uuid4

import pytest

from mnemic import __version__
from mnemic.db.embedded import status
from mnemic.sql.migration_files import all_definitions, all_migrations
from tests.cli.conftest import Run
from tests.embedded.conftest import NEEDS_ROOT
from tests.password_server import PasswordServer
from tests.prepared_folder import copy_prepared
from tests.process_output import complaints

LABELS = [migration.label for migration in all_migrations()]
DEFINITIONS = [definition.label for definition in all_definitions()]
SECRET = "hunter2"


@pytest.fixture
def own_url(password_server: PasswordServer) -> str:
    """The URL of an empty database of one's own."""
    name = f"cli_{uuid4().hex}"
    password_server.execute(f"CREATE DATABASE {name}")
    return password_server.url(dbname=name)


def test_migrate_brings_a_database_up_to_date_once(mnemic: Run, own_url: str) -> None:
    assert mnemic("migrate", "--url", own_url, "--status", "--json").json == {
        "applied": [],
        "pending": LABELS,
        "definitions": DEFINITIONS,
        "dropped_definitions": [],
    }
    ended = mnemic("migrate", "--url", own_url)
    assert ended.out.splitlines() == [
        *(f"applied {label}" for label in LABELS),
        f"definitions: {len(DEFINITIONS)} applied, 0 dropped",
    ]
    assert "Nothing to do" in mnemic("migrate", "--url", own_url).out
    assert mnemic("migrate", "--url", own_url, "--json").json == {
        "applied_now": [],
        "definitions": [],
        "dropped_definitions": [],
    }
    assert mnemic("migrate", "--url", own_url, "--status", "--json").json == {
        "applied": LABELS,
        "pending": [],
        "definitions": [],
        "dropped_definitions": [],
    }
    assert mnemic("migrate", "--url", own_url, "--status").out.count("applied") == len(LABELS)


def test_migrate_shows_the_sql_and_changes_nothing(mnemic: Run, own_url: str) -> None:
    shown = mnemic("migrate", "--url", own_url, "--dry-run").out
    assert "CREATE TABLE state.memories (" in shown
    assert f"-- {LABELS[0]}" in shown
    assert mnemic("migrate", "--url", own_url, "--status", "--json").json["pending"] == LABELS


def test_a_url_that_is_not_migrated_is_said_to_be_so(mnemic: Run, own_url: str) -> None:
    ended = mnemic("retain", "x", "--url", own_url)
    assert (ended.code, ended.out, "mnemic migrate" in ended.said) == (1, "", True)


def test_all_commands_work_on_a_url(mnemic: Run, own_url: str, tmp_path: Path) -> None:
    mnemic("migrate", "--url", own_url)
    assert mnemic("retain", "On a URL.", "--url", own_url).code == 0
    assert mnemic("export", tmp_path / "export", "--url", own_url).code == 0
    assert mnemic("import", tmp_path / "export", "--url", own_url, "--tenant", "elsewhere").code == 0
    assert mnemic("embed", "--url", own_url).code == 0
    assert mnemic("backup", tmp_path / "backup", "--url", own_url).code == 0
    assert mnemic("doctor", "--url", own_url, "--json").json["healthy"] is True
    ended = mnemic("restore", tmp_path / "backup", "--url", own_url)
    assert (ended.code, "not empty" in ended.said) == (1, True)


def test_doctor_looks_at_everything(mnemic: Run, folder: Path) -> None:
    report = mnemic("doctor", "--json").json
    assert (report["healthy"], report["data_dir"]) == (True, str(folder))
    assert {check["name"] for check in report["checks"]} >= {
        "python",
        "server",
        "pgvector",
        "migrations",
        "role",
    }
    ended = mnemic("doctor")
    assert (ended.code, "row security" in ended.out) == (0, True)


@NEEDS_ROOT
def test_doctor_warns_if_other_processes_run_as_the_servers_user(mnemic: Run, folder: Path) -> None:
    def account() -> dict[str, str]:
        checks = mnemic("doctor", "--json").json["checks"]
        return next(check for check in checks if check["name"] == "server account")

    assert account()["state"] == "ok"
    uid = (folder / "pgdata").stat().st_uid
    with subprocess.Popen(["sleep", "300"], user=uid, cwd="/") as stranger:
        try:
            found = account()
        finally:
            stranger.kill()
    assert found["state"] == "warning"
    assert f"other processes run: {stranger.pid}" in found["found"]


def test_doctor_fails_where_something_fails(mnemic: Run) -> None:
    ended = mnemic("doctor", "--url", f"postgresql://alice:{SECRET}@127.0.0.1:1/x", "--json")
    assert (ended.code, ended.json["healthy"]) == (1, False)
    assert SECRET not in ended.out + ended.err


def test_stop_ends_a_server_that_was_told_to_keep_running(
    mnemic: Run, memory_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = memory_dir / str(uuid4())
    copy_prepared(data_dir)
    monkeypatch.setenv("MNEMIC_KEEP_RUNNING", "true")
    assert mnemic("retain", "x", "--data-dir", data_dir).code == 0
    assert status(data_dir).running
    ended = mnemic("stop", "--data-dir", data_dir)
    assert (ended.code, "is stopped" in " ".join(ended.out.split())) == (0, True)
    assert not status(data_dir).running


def test_stop_waits_for_others(mnemic: Run, folder: Path) -> None:
    ended = mnemic("stop", "--data-dir", folder)
    assert (ended.code, "still in use" in " ".join(ended.out.split())) == (0, True)
    assert status(folder).running


URLS = [
    f"postgresql://alice:{SECRET}@127.0.0.1:1/x",
    f"postgresql://alice:{SECRET}@127.0.0.1:notaport/x",
    f"mysql://alice:{SECRET}@localhost/x",
    f"https://alice:{SECRET}@memory.example",
    f"alice:{SECRET}@localhost",
]


def test_no_command_ever_shows_a_password(
    mnemic: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.setenv("MNEMIC_CONNECT_TIMEOUT_S", "2")
    (tmp_path / "file").write_bytes(b"PGDMP")
    commands: dict[str, list[object]] = {
        "retain": ["x"],
        "embed": [],
        "migrate": [],
        "doctor": [],
        "backup": [tmp_path / "new"],
        "export": [tmp_path / "file"],
        "import": [tmp_path / "file"],
        "restore": [tmp_path / "file"],
    }
    for (command, arguments), url in product(commands.items(), URLS):
        with subtests.test(f"{command} {url}"):
            ended = mnemic(command, *arguments, "--url", url)
            assert ended.code == 1
            assert SECRET not in ended.out + ended.err
            assert "Traceback" not in ended.err
            assert ended.out == "" or command == "doctor"


def test_the_version_is_printed(mnemic: Run) -> None:
    assert mnemic("--version").out == f"mnemic {__version__}\n"


def test_an_unknown_command_is_a_usage_error(mnemic: Run) -> None:
    assert mnemic("recal").code == 2


def run(
    *arguments: str, folder: Path, stdin: bytes = b"", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """A real process, as from a shell."""
    return subprocess.run(
        [str(Path(sys.executable).with_name("mnemic")), *arguments],
        env=os.environ | {"MNEMIC_DATA_DIR": str(folder), "MNEMIC_EMBEDDER": "test"} | environment,
        input=stdin,
        capture_output=True,
        timeout=300,
        check=False,
    )


def test_as_a_process_it_speaks_on_the_right_streams(folder: Path, tenant: str) -> None:
    good = run(
        "retain",
        "-",
        "--json",
        folder=folder,
        stdin="Grüße.".encode(),
        MNEMIC_TENANT=tenant,
        MNEMIC_OWNER="a",
    )
    assert (good.returncode, complaints(good.stderr)) == (0, "")
    assert good.stdout.startswith(b"{")
    bad = run("retain", "x", "--url", URLS[0], folder=folder, MNEMIC_CONNECT_TIMEOUT_S="2", MNEMIC_OWNER="a")
    assert (bad.returncode, bad.stdout) == (1, b"")
    assert complaints(bad.stderr).startswith("Error: ")
    assert b"Traceback" not in bad.stderr
    assert SECRET.encode() not in bad.stderr


def test_text_is_utf8_whatever_the_locale(folder: Path, tenant: str) -> None:
    environment = {"MNEMIC_TENANT": tenant, "MNEMIC_OWNER": "a", "LC_ALL": "C", "PYTHONUTF8": "0"}
    bad = run("retain", "-", folder=folder, stdin=b"\xff\xfe", **environment)
    assert (bad.returncode, bad.stdout) == (1, b"")
    assert complaints(bad.stderr).startswith("Error: ")
    good = run("retain", "-", folder=folder, stdin="Grüße.".encode(), **environment)
    assert good.returncode == 0, good.stderr
