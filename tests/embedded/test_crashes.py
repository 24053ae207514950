"""Killed processes: committed rows survive, and no process is left running."""

import contextlib
import logging
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

import psycopg
import pytest

from mnemic.db.embedded import EmbeddedServer, deadline, server_binaries
from mnemic.db.embedded.account import server_account
from mnemic.db.embedded.binaries import runnable_binaries
from mnemic.db.embedded.deadline import Deadline
from mnemic.db.embedded.folder import prepare_folder
from mnemic.db.embedded.launch import StartOptions, _is_ready, _run_keeper
from mnemic.db.embedded.socket_folder import make_socket_folder
from mnemic.errors import EmbeddedServerError
from tests.embedded.conftest import StartUser
from tests.embedded.processes import (
    WAIT_LIMIT_S,
    UserProcess,
    descendants,
    end_everything,
    keeper_of,
    kill,
    living,
    postmaster_of,
    wait_for,
    wait_until_nothing_runs,
)
from tests.embedded.user_process import connect

ROWS = 20


def assert_all_there(server: EmbeddedServer, users: Iterable[UserProcess]) -> None:
    """Every row that a user reported as committed can be read."""
    with connect(server) as connection:
        rows = connection.execute("select writer, number from written").fetchall()
    for user in users:
        assert len(user.committed()) >= ROWS
        assert user.committed() <= {number for writer, number in rows if writer == user.writer}


@contextlib.contextmanager
def held_up(pids: Iterable[int]) -> Iterator[None]:
    """Pause these processes with SIGSTOP."""
    send(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        send(pids, signal.SIGCONT)


def send(pids: Iterable[int], number: int) -> None:
    """Send a signal to the processes that still run."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def two_writers(data_dir: Path, start_user: StartUser) -> list[UserProcess]:
    """Two users that are writing."""
    users = [start_user(data_dir, "first"), start_user(data_dir, "second")]
    for user in users:
        user.wait_until_committed(ROWS)
    return users


def test_killing_one_user_does_not_affect_the_other(data_dir: Path, start_user: StartUser) -> None:
    users = two_writers(data_dir, start_user)
    postmaster = postmaster_of(data_dir)
    users[0].kill()
    users[1].wait_until_committed(len(users[1].committed()) + ROWS)
    assert postmaster_of(data_dir) == postmaster
    users[1].kill()
    wait_until_nothing_runs(data_dir)
    with EmbeddedServer.start(data_dir) as server:
        assert_all_there(server, users)


def test_killing_all_users_stops_the_server(data_dir: Path, start_user: StartUser) -> None:
    users = two_writers(data_dir, start_user)
    for user in users:
        user.kill()
    wait_until_nothing_runs(data_dir)
    with EmbeddedServer.start(data_dir) as server:
        assert_all_there(server, users)


def test_killing_the_postmaster_loses_no_data(data_dir: Path, start_user: StartUser) -> None:
    with EmbeddedServer.start(data_dir) as server:
        users = two_writers(data_dir, start_user)
        kill(postmaster_of(data_dir))
        server.ensure_running()
        assert_all_there(server, users)
    for user in users:
        user.kill()
    wait_until_nothing_runs(data_dir)


def test_a_killed_postmaster_leaves_no_processes_or_files(data_dir: Path, start_user: StartUser) -> None:
    users = two_writers(data_dir, start_user)
    kill(postmaster_of(data_dir))
    wait_until_nothing_runs(data_dir)
    with EmbeddedServer.start(data_dir) as server:
        assert_all_there(server, users)


def test_killing_the_keeper_stops_the_server_and_a_user_can_restart_it(
    data_dir: Path, start_user: StartUser
) -> None:
    with EmbeddedServer.start(data_dir) as server:
        users = two_writers(data_dir, start_user)
        kill(keeper_of(data_dir))
        wait_until_nothing_runs(data_dir)
        server.ensure_running()
        assert_all_there(server, users)
    for user in users:
        user.kill()
    wait_until_nothing_runs(data_dir)


def test_killing_all_processes_at_once_loses_no_data(data_dir: Path, start_user: StartUser) -> None:
    users = two_writers(data_dir, start_user)
    end_everything(data_dir)
    for user in users:
        user.kill()
    with EmbeddedServer.start(data_dir) as server:
        assert_all_there(server, users)


def test_a_start_waits_for_a_backend_that_outlives_its_postmaster(data_dir: Path) -> None:
    server = EmbeddedServer.start(data_dir)
    backend = connect(server)
    postmaster = postmaster_of(data_dir)
    with held_up([backend.info.backend_pid]):
        with held_up([postmaster]):
            kill(keeper_of(data_dir))
            kill(postmaster)
        with pytest.raises(EmbeddedServerError, match="waiting for processes of the previous server"):
            EmbeddedServer.start(data_dir, start_timeout_s=0.2)
    server.ensure_running()
    backend.close()
    server.close()


def test_the_server_survives_a_crashed_backend(data_dir: Path) -> None:
    with EmbeddedServer.start(data_dir) as server:
        postmaster = postmaster_of(data_dir)
        victim = connect(server)
        kill(victim.info.backend_pid)
        with pytest.raises(psycopg.OperationalError):
            victim.execute("select 1")

        def answers() -> bool:
            try:
                connect(server).close()
            except psycopg.OperationalError:
                return False
            return True

        wait_for(answers, "the postmaster to bring its backends up again")
        assert postmaster_of(data_dir) == postmaster


def test_a_starter_killed_during_initdb_leaves_no_files(new_dir: Path, start_user: StartUser) -> None:
    user = start_user(new_dir, "killed")
    wait_for(lambda: any(new_dir.glob("pgdata.new-*/PG_VERSION")), "initdb to begin")
    # At once: initdb takes a second, and looking at all processes may take as long.
    with held_up(descendants(user.process.pid)):
        user.kill()
        assert not (new_dir / "pgdata").exists()
        with pytest.raises(EmbeddedServerError, match="waiting for processes of the previous server"):
            EmbeddedServer.start(new_dir, start_timeout_s=0.2)
    with EmbeddedServer.start(new_dir) as server, connect(server) as connection:
        connection.execute("select 1")
    assert [path.name for path in new_dir.glob("pgdata*")] == ["pgdata"]


def test_a_starter_killed_while_the_server_starts_leaves_no_processes(
    data_dir: Path, start_user: StartUser
) -> None:
    user = start_user(data_dir, "killed")
    wait_for(lambda: living(data_dir), "the keeper to begin")
    user.kill()
    wait_until_nothing_runs(data_dir)


def test_a_server_without_users_stops_while_it_starts(data_dir: Path) -> None:
    """The test holds no share, so the keeper stops the server right after starting it."""
    folder = prepare_folder(data_dir)
    account = server_account(folder, "nobody")
    options = StartOptions(folder, account.name, {}, server_binaries())
    binaries = runnable_binaries(account, server_binaries(), Deadline(WAIT_LIMIT_S))
    for _ in range(5):
        socket_dir = make_socket_folder(account, lambda path: None)
        _run_keeper(options, account, binaries, socket_dir, Deadline(WAIT_LIMIT_S))
        wait_until_nothing_runs(data_dir)


def test_an_uncommitted_transaction_is_lost_in_a_crash(data_dir: Path) -> None:
    with EmbeddedServer.start(data_dir) as server:
        unfinished = connect(server)
        unfinished.execute("begin")
        unfinished.execute("insert into written values ('unfinished', 1)")
        kill(postmaster_of(data_dir))
        server.ensure_running()
        with connect(server) as connection:
            assert connection.execute("select count(*) from written").fetchone() == (0,)
        unfinished.close()


def test_waiting_for_recovery_is_logged(
    data_dir: Path, start_user: StartUser, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_writers(data_dir, start_user)
    kill(postmaster_of(data_dir))
    monkeypatch.setattr(deadline, "MESSAGE_INTERVAL_S", 0.0)
    # The server may be ready before this process looks for the first time.
    first = iter([False])
    monkeypatch.setattr(
        "mnemic.db.embedded.launch._is_ready",
        lambda folder, socket_dir: next(first, True) and _is_ready(folder, socket_dir),
    )
    with caplog.at_level(logging.WARNING, logger="mnemic.embedded"):
        EmbeddedServer.start(data_dir).close()
    assert "after a crash it runs recovery first" in caplog.text


def test_the_socket_folder_of_a_killed_server_is_removed(data_dir: Path) -> None:
    server = EmbeddedServer.start(data_dir)
    left_behind = server.socket_dir
    kill(keeper_of(data_dir))
    end_everything(data_dir)
    assert left_behind.exists()
    server.ensure_running()
    assert not left_behind.exists()
    server.close()
