"""Unusual data folders: the server starts, or the error says what is wrong."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mnemic.db.embedded import EmbeddedServer, binaries, cluster, folder, server_binaries
from mnemic.db.embedded.account import Account, server_account
from mnemic.db.embedded.binaries import runnable_binaries
from mnemic.db.embedded.deadline import Deadline
from mnemic.db.embedded.folder import find_folder
from mnemic.db.embedded.locks import FileLock
from mnemic.errors import DataFolderError, EmbeddedServerError, UnsupportedMachineError
from tests.embedded.processes import WAIT_LIMIT_S, postmaster_of, wait_for, wait_until_nothing_runs
from tests.embedded.user_process import connect

MEGABYTE = 1024 * 1024


def account_of(data_dir: Path) -> Account:
    found = find_folder(data_dir)
    assert found is not None
    return server_account(found, None)


@contextlib.contextmanager
def running_as_server_user(
    data_dir: Path, command: list[str], *pass_fds: int
) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the user that runs the server, as a recycled pid would be."""
    account = account_of(data_dir)
    switch = {"user": account.uid, "group": account.gid, "extra_groups": []} if account.switched else {}
    with subprocess.Popen(command, pass_fds=pass_fds, cwd="/", **switch) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.terminate()


def write_pid_file(data_dir: Path, pid: int) -> None:
    """The pid file of a killed postmaster, with another pid."""
    pgdata = data_dir / "pgdata"
    path = pgdata / "postmaster.pid"
    path.write_text(f"{pid}\n{pgdata}\n1700000000\n5432\n/tmp/gone\n\n  1234567    123456\nready   \n")
    os.chown(path, pgdata.stat().st_uid, pgdata.stat().st_gid)


def assert_serves(data_dir: Path) -> None:
    with EmbeddedServer.start(data_dir) as server, connect(server) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Mounts small file systems; skips where that is not permitted."""
    mounts: list[Path] = []

    def mount(size_bytes: int) -> Path:
        place = tmp_path / f"mounted{len(mounts)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes},mode=755", "tmpfs", str(place)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"mounting a file system is not permitted: {done.stderr.strip()}")
        mounts.append(place)
        return place

    yield mount
    for place in mounts:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_the_server_starts_despite_a_stale_pid_file(data_dir: Path) -> None:
    with subprocess.Popen(["true"]) as gone:
        pass
    write_pid_file(data_dir, gone.pid)
    assert_serves(data_dir)


def test_the_server_starts_if_its_old_pid_belongs_to_another_program(data_dir: Path) -> None:
    with running_as_server_user(data_dir, ["sleep", "60"]) as stranger:
        write_pid_file(data_dir, stranger.pid)
        assert_serves(data_dir)
        assert stranger.poll() is None


def test_the_server_starts_if_its_old_pid_belongs_to_another_postgres(
    data_dir: Path, copy_template: Callable[[Path], Path], room: Path
) -> None:
    with EmbeddedServer.start(copy_template(room / "other")) as other:
        write_pid_file(data_dir, postmaster_of(other.data_dir))
        assert_serves(data_dir)
        with connect(other) as connection:
            connection.execute("select 1")


def test_an_invalid_pid_file_is_an_error(data_dir: Path) -> None:
    write_pid_file(data_dir, 0)
    (data_dir / "pgdata" / "postmaster.pid").write_text("rubbish")
    with pytest.raises(EmbeddedServerError, match=r"postmaster\.pid"):
        EmbeddedServer.start(data_dir)


def test_the_error_names_a_foreign_server_on_the_folder(data_dir: Path) -> None:
    socket_dir = Path(tempfile.mkdtemp(dir="/tmp"))
    account = account_of(data_dir)
    os.chown(socket_dir, account.uid, -1)
    fd = os.open(data_dir / "pgdata", os.O_RDONLY)
    postgres = str(runnable_binaries(account, server_binaries(), Deadline(WAIT_LIMIT_S)).folder / "postgres")
    command = [postgres, "-D", f"/proc/self/fd/{fd}", "-k", str(socket_dir), "-c", "listen_addresses="]
    with running_as_server_user(data_dir, command, fd) as foreign:
        wait_for((data_dir / "pgdata" / "postmaster.pid").exists, "the foreign server to start")
        with pytest.raises(DataFolderError, match=f"did not start .*{foreign.pid}"):
            EmbeddedServer.start(data_dir)
        assert foreign.poll() is None
    os.close(fd)
    shutil.rmtree(socket_dir)


def test_a_path_with_spaces_and_non_latin_letters_works(
    copy_template: Callable[[Path], Path], room: Path
) -> None:
    parent = room / 'it\'s a "folder", ünïcödé 記憶 \\ %d'
    parent.mkdir()
    assert_serves(copy_template(parent / "data 🐘"))


def test_another_socket_folder_is_used_if_the_path_of_the_first_is_too_long(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with EmbeddedServer.start(data_dir) as server:
        assert server.socket_dir.parent == Path("/tmp")


def test_the_error_names_all_folders_that_cannot_hold_the_socket(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("x" * 100)
    monkeypatch.setattr("mnemic.db.embedded.socket_folder._candidates", lambda: [deep, tmp_path / "missing"])
    with pytest.raises(EmbeddedServerError, match=r"x{100} \(.*bytes.*missing \(No such"):
        EmbeddedServer.start(data_dir)
    wait_until_nothing_runs(data_dir)


def test_a_path_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(DataFolderError, match="file"):
            EmbeddedServer.start(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(DataFolderError, match="may not use it"):
        EmbeddedServer.start(tmp_path / "data")
    tmp_path.chmod(0o700)


@pytest.mark.skipif(os.geteuid() == 0, reason="everything is root's own")
def test_a_folder_of_another_user_is_an_error() -> None:
    with pytest.raises(DataFolderError, match="belongs to"):
        EmbeddedServer.start(Path("/usr"))


def test_a_read_only_file_system_is_an_error(
    mounted: Callable[[int], Path], copy_template: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = mounted(100 * MEGABYTE)
    data_dir = copy_template(place / "data")
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    with pytest.raises(DataFolderError, match="read-only"):
        EmbeddedServer.start(data_dir)
    with pytest.raises(DataFolderError, match="read-only"):
        EmbeddedServer.start(place / "new")
    subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)


def test_too_little_space_for_a_new_database_is_an_error(mounted: Callable[[int], Path]) -> None:
    with pytest.raises(DataFolderError, match=r"a new database needs 128 MB, .* has \d+ MB left"):
        EmbeddedServer.start(mounted(20 * MEGABYTE) / "data")


def test_a_system_without_the_utf8_ctype_gets_the_ctype_c(
    new_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_UTF8_CTYPE", "--lc-ctype=no_SUCH.UTF-8")
    with EmbeddedServer.start(new_dir) as server, connect(server) as connection:
        found = connection.execute("select distinct datctype, lower('É') from pg_database").fetchall()
        assert found == [("C", "é")]


def test_running_out_of_space_during_initdb_leaves_no_files(
    mounted: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = mounted(20 * MEGABYTE) / "data"
    monkeypatch.setattr(cluster, "MINIMUM_FREE_BYTES", 0)
    with pytest.raises(DataFolderError, match="full"):
        EmbeddedServer.start(data_dir)
    assert not list(data_dir.glob("pgdata*"))


def test_a_full_disk_with_a_database_is_an_error_and_loses_no_data(
    mounted: Callable[[int], Path], copy_template: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    sockets = mounted(MEGABYTE)
    monkeypatch.setattr("mnemic.db.embedded.socket_folder._candidates", lambda: [sockets])
    monkeypatch.setattr("mnemic.db.embedded.socket_folder.can_use", lambda account, folder: True)
    place = mounted(80 * MEGABYTE)
    data_dir = copy_template(place / "data")
    filler = place / "filler"
    with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    with pytest.raises(DataFolderError, match=r"full|bytes left"):
        EmbeddedServer.start(data_dir)
    assert not any(sockets.iterdir())
    filler.unlink()
    monkeypatch.undo()
    assert_serves(data_dir)


def test_a_cluster_of_another_version_is_an_error(data_dir: Path) -> None:
    (data_dir / "pgdata" / "PG_VERSION").write_text("17\n")
    with pytest.raises(DataFolderError, match="made by PostgreSQL 17, this Mnemic brings 18"):
        EmbeddedServer.start(data_dir)


def test_a_pgdata_folder_that_is_not_a_cluster_is_an_error(data_dir: Path) -> None:
    (data_dir / "pgdata" / "PG_VERSION").unlink()
    with pytest.raises(DataFolderError, match="no PostgreSQL cluster"):
        EmbeddedServer.start(data_dir)


def test_the_server_starts_despite_a_damaged_record(data_dir: Path) -> None:
    (data_dir / "server.json").write_text('{"socket_dir": ')
    assert_serves(data_dir)


def test_edited_access_rules_are_overwritten(data_dir: Path) -> None:
    (data_dir / "pgdata" / "pg_hba.conf").write_text("local all all trust\n")
    assert_serves(data_dir)
    assert "trust" not in (data_dir / "pgdata" / "pg_hba.conf").read_text()


def test_a_long_log_is_rotated(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "LOG_LIMIT_BYTES", 10)
    (data_dir / "server.log").write_text("an old story that is long")
    assert_serves(data_dir)
    assert (data_dir / "server.log.1").read_text() == "an old story that is long"
    assert "an old story" not in (data_dir / "server.log").read_text()


def test_waiting_for_another_starter_times_out(data_dir: Path) -> None:
    lock = FileLock.try_acquire(data_dir / "start.lock", exclusive=True)
    assert lock is not None
    with lock, pytest.raises(EmbeddedServerError, match=r"gave up after 0\.1 s .*another process to start"):
        EmbeddedServer.start(data_dir, start_timeout_s=0.1)
    assert_serves(data_dir)


def test_missing_cpu_features_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "_cpu_flags", lambda: frozenset({"fma", "bmi2"}))
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "", "", "", "x86_64")))
    assert binaries.missing_cpu_features() == ("AVX2", "F16C")
    with pytest.raises(UnsupportedMachineError, match=r"AVX2, F16C.*postgresql://"):
        EmbeddedServer.start(tmp_path / "data")


def test_missing_binaries_are_an_error(data_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(EmbeddedServerError, match="nowhere"):
        EmbeddedServer.start(data_dir, binaries=tmp_path / "nowhere")


def test_a_removed_socket_folder_is_an_error_with_advice(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.db.embedded.launch.SOCKET_TIMEOUT_S", 0.1)
    with EmbeddedServer.start(data_dir) as server:
        shutil.rmtree(server.socket_dir)
        with pytest.raises(EmbeddedServerError, match="cannot see its socket"):
            server.ensure_running()
