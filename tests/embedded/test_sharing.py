"""Several users, one server: it starts with the first and stops after the last."""

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest

from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer, status, stop
from mnemic.errors import ClosedError, ConfigurationError
from tests.embedded.conftest import StartUser
from tests.embedded.processes import (
    HERE,
    SOURCES,
    keeper_waits,
    nothing_runs,
    postmaster_of,
    wait_for,
    wait_until_nothing_runs,
)
from tests.embedded.user_process import connect


def show(connection: psycopg.Connection, setting: str) -> str:
    row = connection.execute("select current_setting(%s)", [setting]).fetchone()
    assert row is not None
    return str(row[0])


def test_the_first_start_makes_a_private_server_with_safe_settings(new_dir: Path) -> None:
    with EmbeddedServer.start(new_dir) as server, connect(server) as connection:
        assert stat.S_IMODE(new_dir.stat().st_mode) == 0o700
        assert stat.S_IMODE(server.socket_dir.stat().st_mode) == 0o700
        assert not server.socket_dir.is_relative_to(new_dir)
        assert show(connection, "listen_addresses") == ""
        assert show(connection, "fsync") == "on"
        assert show(connection, "server_encoding") == "UTF8"
        locale = (
            "select datlocprovider::text, datlocale, datctype from pg_database where datname = 'template1'"
        )
        assert connection.execute(locale).fetchone() == ("b", "C.UTF-8", "C.UTF-8")
        roles = "select rolname, rolsuper, rolpassword from pg_authid where rolcanlogin"
        assert connection.execute(roles).fetchall() == [(ADMIN_ROLE, True, None)]
        socket_dir = server.socket_dir
    wait_until_nothing_runs(new_dir)
    assert not socket_dir.exists()
    assert sorted(path.name for path in new_dir.iterdir()) == [
        "keeper.lock",
        "pgdata",
        "server.json",
        "server.lock",
        "server.log",
        "start.lock",
        "users.lock",
    ]


def test_processes_that_open_a_new_folder_concurrently_share_one_server(
    new_dir: Path, start_user: StartUser
) -> None:
    users = [start_user(new_dir, f"writer{number}") for number in range(3)]
    for user in users:
        user.wait_until_committed(5)
    with EmbeddedServer.start(new_dir) as server, connect(server) as connection:
        rows = connection.execute("select writer, number from written").fetchall()
        for user in users:
            assert {number for writer, number in rows if writer == user.writer} >= set(range(5))
    assert len(list(new_dir.glob("pgdata*"))) == 1


def test_the_server_runs_until_the_last_user_closes_it(data_dir: Path, start_user: StartUser) -> None:
    user = start_user(data_dir, "holder", "--hold")
    user.wait_until_ready()
    server = EmbeddedServer.start(data_dir)
    postmaster = postmaster_of(data_dir)
    user.leave()
    with connect(server) as connection:
        connection.execute("select 1")
    assert postmaster_of(data_dir) == postmaster
    server.close()
    wait_until_nothing_runs(data_dir)


def test_threads_of_one_process_share_one_server(data_dir: Path) -> None:
    servers: list[EmbeddedServer] = []
    threads = [
        threading.Thread(target=lambda: servers.append(EmbeddedServer.start(data_dir))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({server.socket_dir for server in servers}) == 1
    for server in servers[1:]:
        server.close()
    with connect(servers[0]) as connection:
        connection.execute("select 1")
    servers[0].close()
    wait_until_nothing_runs(data_dir)


def test_a_garbage_collected_share_is_released(data_dir: Path) -> None:
    server = EmbeddedServer.start(data_dir)
    del server
    wait_until_nothing_runs(data_dir)


def test_a_start_waits_for_a_server_that_is_stopping(data_dir: Path) -> None:
    for _ in range(5):
        with EmbeddedServer.start(data_dir) as server, connect(server) as connection:
            connection.execute("insert into written values ('again', 1)")
    with EmbeddedServer.start(data_dir) as server, connect(server) as connection:
        assert connection.execute("select count(*) from written").fetchone() == (5,)


def test_closing_twice_is_harmless_and_a_closed_server_is_an_error(data_dir: Path) -> None:
    server = EmbeddedServer.start(data_dir)
    server.close()
    server.close()
    with pytest.raises(ClosedError):
        server.ensure_running()


def test_ensure_running_does_not_restart_a_running_server(data_dir: Path) -> None:
    with EmbeddedServer.start(data_dir) as server, connect(server) as connection:
        server.ensure_running()
        connection.execute("select 1")


def test_a_kept_running_server_runs_without_users_until_stop(data_dir: Path) -> None:
    EmbeddedServer.start(data_dir, keep_running=True).close()
    wait_for(lambda: not keeper_waits(data_dir), "the keeper to notice that there are no users")
    postmaster = postmaster_of(data_dir)
    with EmbeddedServer.start(data_dir) as server:
        assert status(data_dir).keep_running
        assert postmaster_of(data_dir) == postmaster
        assert not stop(data_dir), "it is in use"
        with connect(server) as connection:
            connection.execute("select 1")
    wait_until_nothing_runs(data_dir)
    assert not status(data_dir).keep_running


def test_stop_stops_an_unused_server_that_was_kept_running(data_dir: Path) -> None:
    EmbeddedServer.start(data_dir, keep_running=True).close()
    assert stop(data_dir)
    assert nothing_runs(data_dir)


def test_a_stale_keep_running_file_does_not_affect_a_new_server(data_dir: Path) -> None:
    (data_dir / "keep-running").touch()
    EmbeddedServer.start(data_dir).close()
    wait_until_nothing_runs(data_dir)


def test_status_and_stop_create_nothing(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert not status(missing).running
    assert stop(missing)
    assert not missing.exists()


def test_status_describes_the_running_server(data_dir: Path) -> None:
    assert (status(data_dir).running, status(data_dir).version) == (False, "18")
    with EmbeddedServer.start(data_dir) as server, connect(server) as connection:
        seen = status(data_dir)
        assert seen.running
        assert seen.socket_dir == server.socket_dir
        row = connection.execute("select pid from pg_stat_activity where backend_type = 'checkpointer'")
        assert row.fetchone() is not None
        os.kill(seen.pid or 0, 0)


def test_settings_reach_the_server(data_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = {"shared_buffers": "64MB", "Work_Mem": "9MB", "cluster_name": "it's one"}
    with (
        EmbeddedServer.start(data_dir, server_settings=settings) as server,
        connect(server) as connection,
        EmbeddedServer.start(data_dir, server_settings={"work_mem": "5MB"}),
    ):
        assert show(connection, "shared_buffers") == "64MB"
        assert show(connection, "work_mem") == "9MB"
        assert show(connection, "cluster_name") == "it's one"
        assert "was started with other settings" in caplog.text


@pytest.mark.parametrize("name", ["fsync", "FSYNC", "listen_addresses", "hba_file", "not a name", "a=b"])
def test_settings_that_protect_data_or_access_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=name.lower()):
        EmbeddedServer.start(tmp_path / "data", server_settings={name: "off"})
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"no_such_setting": "1"}, 'unrecognized configuration parameter "no_such_setting"'),
        ({"shared_buffers": "plenty"}, 'invalid value for parameter "shared_buffers"'),
    ],
)
def test_the_error_for_refused_settings_has_postgresqls_message(
    data_dir: Path, settings: dict[str, str], complaint: str
) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        EmbeddedServer.start(data_dir, server_settings=settings)
    wait_until_nothing_runs(data_dir)


def test_libpq_variables_do_not_redirect_a_connection(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PGHOST": "/nowhere", "PGHOSTADDR": "127.0.0.1", "PGPORT": "1"}.items():
        monkeypatch.setenv(name, value)
    with EmbeddedServer.start(data_dir) as server, connect(server) as connection:
        assert connection.info.host == str(server.socket_dir)


def test_a_forked_child_does_not_hold_or_release_its_parents_share(data_dir: Path) -> None:
    command = [sys.executable, str(HERE / "forking_process.py"), str(data_dir)]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(SOURCES)}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    lingering_child = int(done.stdout)
    try:
        wait_until_nothing_runs(data_dir)
    finally:
        os.kill(lingering_child, signal.SIGKILL)


def test_wait_for_fails_after_the_time_limit() -> None:
    with pytest.raises(AssertionError, match="waited"):
        wait_for(lambda: False, "nothing", limit_s=0.05)
