"""Root runs the server as another user and changes no permissions."""

import contextlib
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.db.embedded import EmbeddedServer, account, binaries, server_binaries, stop
from mnemic.db.embedded import server_uid as server_uid_module
from mnemic.db.embedded.account import Account, account_status, server_account
from mnemic.db.embedded.binaries import runnable_binaries
from mnemic.db.embedded.deadline import Deadline
from mnemic.db.embedded.folder import find_folder
from mnemic.db.embedded.server_uid import SERVER_UIDS, free_server_uid
from mnemic.errors import ConfigurationError, DataFolderError, EmbeddedServerError
from tests.embedded.conftest import NEEDS_ROOT, SHARED_MEMORY, leave_nothing
from tests.embedded.processes import HERE, living, postmaster_of, wait_until_nothing_runs
from tests.embedded.test_ordinary_user import USER, run_as_ordinary_user
from tests.embedded.user_process import connect

pytestmark = NEEDS_ROOT

CONNECT = "import psycopg, sys; print(psycopg.connect(sys.argv[1]).execute('select 1').fetchone())"


@pytest.fixture
def nobody() -> Account:
    entry = pwd.getpwnam("nobody")
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, switched=True)


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A folder in which all users can run programs."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def ordinary_users_dir() -> Iterator[Path]:
    """An empty data folder of an ordinary user."""
    parent = Path(tempfile.mkdtemp(dir=SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else "/tmp"))
    parent.chmod(0o755)
    data_dir = parent / "data"
    data_dir.mkdir(mode=0o700)
    os.chown(data_dir, pwd.getpwnam(USER).pw_uid, -1)
    yield data_dir
    leave_nothing(data_dir)
    parent.rmdir()


@pytest.fixture(scope="session")
def closed_binaries(memory_dir: Path) -> Path:
    """The wheel's binaries below a folder that only root can enter, like a venv in root's home."""
    return _installed_again(memory_dir / "closed" / "site-packages")


def _installed_again(site_packages: Path) -> Path:
    """A copy of the wheel's binaries and libraries in another folder."""
    package = server_binaries().parents[1]
    site_packages.mkdir(parents=True)
    for source in (package, package.with_name(f"{package.name}.libs")):
        subprocess.run(["cp", "-a", str(source), str(site_packages)], check=True)
    return site_packages / package.name / "pginstall" / "bin"


@contextlib.contextmanager
def more_groups() -> Iterator[None]:
    """Give this process supplementary groups, which the server must not inherit."""
    groups = os.getgroups()
    os.setgroups([*groups, pwd.getpwnam(USER).pw_gid])
    try:
        yield
    finally:
        os.setgroups(groups)


def server_uid(data_dir: Path) -> int:
    return Path(f"/proc/{postmaster_of(data_dir)}").stat().st_uid


def owners(folder: Path) -> set[int]:
    """Owners of a folder and everything in it. A server that runs removes files meanwhile."""
    found = set()
    for path in (folder, *folder.rglob("*")):
        with contextlib.suppress(FileNotFoundError):
            found.add(path.lstat().st_uid)
    return found


def give_to(account: Account, pgdata: Path) -> None:
    """A cluster as earlier versions made it."""
    subprocess.run(["chown", "-R", "-h", f"{account.uid}:{account.gid}", str(pgdata)], check=True)


@contextlib.contextmanager
def running_as(uid: int) -> Iterator[int]:
    """A process of this user id."""
    with subprocess.Popen(["sleep", "300"], user=uid, cwd="/") as process:
        yield process.pid
        process.kill()


def snapshot(*roots: Path) -> dict[str, tuple[int, int, int]]:
    """Mode and owner of everything below these folders, and of all folders above them."""
    below = (Path(folder) / name for root in roots for folder, _, names in os.walk(root) for name in names)
    folders = (Path(folder) for root in roots for folder, _, _ in os.walk(root))
    above = (parent for root in roots for parent in root.parents)
    return {str(path): _mode_and_owner(path) for path in (*below, *folders, *above)}


def _mode_and_owner(path: Path) -> tuple[int, int, int]:
    status = path.lstat()
    return status.st_mode, status.st_uid, status.st_gid


def test_data_and_binaries_below_a_closed_folder_work_and_it_stays_closed(
    new_dir: Path, closed_binaries: Path, open_dir: Path, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    monkeypatch.setenv("HOME", str(room))
    monkeypatch.setenv("API_KEY", "secret")
    monkeypatch.setattr(binaries, "COPY_FOLDERS", (open_dir / "mnemic",))
    assert stat.S_IMODE(room.stat().st_mode) == 0o700
    before = snapshot(room, closed_binaries.parents[2], open_dir)
    with (
        more_groups(),
        EmbeddedServer.start(new_dir, binaries=closed_binaries) as server,
        connect(server) as connection,
    ):
        connection.execute("create extension vector")
        assert server.socket_dir.parent == Path("/tmp")
        process = Path(f"/proc/{postmaster_of(new_dir)}")
        assert process.stat().st_uid in SERVER_UIDS
        assert "Groups:\t \n" in (process / "status").read_text()
        assert b"secret" not in (process / "environ").read_bytes()
    assert {path: _mode_and_owner(Path(path)) for path in before} == before


def test_accessible_binaries_are_not_copied(
    open_dir: Path, nobody: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    within_reach = _installed_again(open_dir / "site-packages")
    monkeypatch.setattr(binaries, "COPY_FOLDERS", ())
    assert runnable_binaries(nobody, within_reach, Deadline(60)).folder == within_reach


def test_a_copy_is_reused_and_a_damaged_one_is_replaced(
    closed_binaries: Path, open_dir: Path, nobody: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "COPY_FOLDERS", (open_dir / "mnemic",))
    previous_umask = os.umask(0o077)
    try:
        copied = runnable_binaries(nobody, closed_binaries, Deadline(60)).folder
    finally:
        os.umask(previous_umask)
    first = (copied / "postgres").stat().st_ino
    assert runnable_binaries(nobody, closed_binaries, Deadline(60)).folder == copied
    assert (copied / "postgres").stat().st_ino == first
    victim = next(copied.parent.glob("share/**/vector.control"))
    victim.unlink()
    assert runnable_binaries(nobody, closed_binaries, Deadline(60)).folder == copied
    assert victim.exists()
    written_by_others = [path for path, (mode, _, _) in snapshot(copied.parent).items() if mode & 0o022]
    assert [
        path for path in written_by_others if path.startswith(str(open_dir)) and not os.path.islink(path)
    ] == []


def test_a_folder_that_others_can_write_is_not_used_for_copies(
    closed_binaries: Path, open_dir: Path, nobody: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign, writable, link, good = (open_dir / name for name in ("foreign", "writable", "link", "good"))
    foreign.mkdir()
    os.chown(foreign, nobody.uid, nobody.gid)
    writable.mkdir()
    writable.chmod(0o777)
    link.symlink_to(foreign)
    monkeypatch.setattr(binaries, "COPY_FOLDERS", (foreign, writable, link, good))
    assert runnable_binaries(nobody, closed_binaries, Deadline(60)).folder.is_relative_to(good)
    monkeypatch.setattr(binaries, "COPY_FOLDERS", (foreign, writable, link))
    with pytest.raises(EmbeddedServerError, match="only root can write"):
        runnable_binaries(nobody, closed_binaries, Deadline(60))
    assert not any(foreign.iterdir())
    assert not any(writable.iterdir())


def test_the_owner_of_the_cluster_runs_it_regardless_of_server_user(data_dir: Path) -> None:
    owner_uid = (data_dir / "pgdata").stat().st_uid
    with EmbeddedServer.start(data_dir, server_user=USER):
        assert server_uid(data_dir) == owner_uid


def test_each_folder_has_a_user_id_of_its_own(data_dir: Path, new_dir: Path) -> None:
    with EmbeddedServer.start(data_dir), EmbeddedServer.start(new_dir):
        assert {server_uid(data_dir), server_uid(new_dir)} <= set(SERVER_UIDS)
        assert server_uid(data_dir) != server_uid(new_dir)
        assert owners(new_dir / "pgdata") == {server_uid(new_dir)}


def test_a_configured_user_runs_a_new_cluster(new_dir: Path) -> None:
    with EmbeddedServer.start(new_dir, server_user=USER):
        assert server_uid(new_dir) == pwd.getpwnam(USER).pw_uid


def test_a_cluster_of_nobody_is_carried_over_with_its_data(data_dir: Path, nobody: Account) -> None:
    with EmbeddedServer.start(data_dir) as server, connect(server) as connection:
        connection.execute("insert into written values ('before', 1)")
    assert stop(data_dir)
    give_to(nobody, data_dir / "pgdata")
    with EmbeddedServer.start(data_dir, server_user="nobody"):
        assert server_uid(data_dir) == nobody.uid, "whoever configures nobody keeps it"
    assert stop(data_dir)
    with EmbeddedServer.start(data_dir) as server, connect(server) as connection:
        assert connection.execute("select writer from written").fetchall() == [("before",)]
        assert server_uid(data_dir) in SERVER_UIDS
        assert owners(data_dir / "pgdata") == {server_uid(data_dir)}
    assert not (data_dir / "owner.new").exists()


def test_a_shared_user_is_reported(data_dir: Path, nobody: Account) -> None:
    give_to(nobody, data_dir / "pgdata")
    with EmbeddedServer.start(data_dir, server_user="nobody"):
        found = account_status(data_dir, postmaster_of(data_dir))
        assert found is not None
        assert (found.name, found.is_former, found.is_owner) == ("nobody", True, False)


def test_an_interrupted_change_of_the_owner_is_continued(data_dir: Path, nobody: Account) -> None:
    intended = SERVER_UIDS[7]
    give_to(nobody, data_dir / "pgdata")
    os.chown(data_dir / "pgdata", intended, intended)
    (data_dir / "owner.new").write_text(str(intended))
    with EmbeddedServer.start(data_dir):
        assert server_uid(data_dir) == intended
        assert owners(data_dir / "pgdata") == {intended}
    assert not (data_dir / "owner.new").exists()


def test_planted_files_are_not_given_away(data_dir: Path, nobody: Account, room: Path) -> None:
    give_to(nobody, data_dir / "pgdata")
    victim, service = room / "root's file", room / "file of a service"
    victim.write_text("")
    service.write_text("")
    os.chown(service, nobody.uid, nobody.gid)
    link = data_dir / "pgdata" / "planted"
    link.symlink_to(victim)
    os.chown(link, nobody.uid, nobody.gid, follow_symlinks=False)
    with EmbeddedServer.start(data_dir):
        assert victim.stat().st_uid == 0, "links are not followed"
    assert stop(data_dir)
    for target, problem in ((victim, "belongs to the user with the id 0"), (service, "second name")):
        give_to(nobody, data_dir / "pgdata")
        planted = data_dir / "pgdata" / "hard link"
        os.link(target, planted)
        before = target.stat().st_uid
        with pytest.raises(DataFolderError, match=problem):
            EmbeddedServer.start(data_dir)
        assert target.stat().st_uid == before
        planted.unlink()


def test_a_cluster_with_files_elsewhere_keeps_its_user(data_dir: Path, nobody: Account, room: Path) -> None:
    give_to(nobody, data_dir / "pgdata")
    (data_dir / "pgdata" / "pg_tblspc" / "16384").symlink_to(room)
    found = find_folder(data_dir)
    assert found is not None
    assert server_account(found, None) == nobody


def test_nobody_is_used_with_a_warning_where_the_user_id_is_not_mapped(
    new_dir: Path, nobody: Account, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(account, "can_own", lambda uid, folder: False)
    with EmbeddedServer.start(new_dir):
        assert server_uid(new_dir) == nobody.uid
    assert "Set server_user to a user that nothing else uses" in caplog.text


def test_numbers_that_are_assigned_are_not_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assigned = tmp_path / "subuid"
    assigned.write_text(f"alice:{SERVER_UIDS[1]}:{len(SERVER_UIDS)}\nrubbish\n")
    monkeypatch.setattr(server_uid_module, "SUBORDINATE_UIDS", assigned)
    with monkeypatch.context() as without_processes:
        # Another server on this machine may have just this number.
        without_processes.setattr(server_uid_module, "PROC", tmp_path / "no processes")
        assert free_server_uid() == SERVER_UIDS[0]
    with running_as(SERVER_UIDS[0]):
        assert free_server_uid() is None


def test_a_cluster_of_root_is_refused(data_dir: Path) -> None:
    os.chown(data_dir / "pgdata", 0, 0)
    with pytest.raises(DataFolderError, match=r"refuses to run as root.*chown -R nobody"):
        EmbeddedServer.start(data_dir)


@pytest.mark.parametrize("server_user", ["root", "no-such-user"])
def test_an_invalid_server_user_is_refused(new_dir: Path, server_user: str) -> None:
    with pytest.raises(ConfigurationError, match=server_user):
        EmbeddedServer.start(new_dir, server_user=server_user)


def test_root_serves_an_ordinary_users_folder_which_the_user_can_use_afterwards(
    ordinary_users_dir: Path,
) -> None:
    join = [str(HERE / "user_process.py"), str(ordinary_users_dir), "owner", "--hold"]
    with EmbeddedServer.start(ordinary_users_dir):
        assert owners(ordinary_users_dir) == {ordinary_users_dir.stat().st_uid}
        together = run_as_ordinary_user(USER, *join)
        assert together.stdout == "ready\n", together.stderr
    wait_until_nothing_runs(ordinary_users_dir)
    alone = run_as_ordinary_user(USER, *join)
    assert alone.stdout == "ready\n", alone.stderr


def test_other_users_cannot_connect(data_dir: Path) -> None:
    with EmbeddedServer.start(data_dir) as server:
        conninfo = server.conninfo(user="mnemic", dbname="postgres")
        outside = run_as_ordinary_user(USER, "-c", CONNECT, conninfo)
        assert "Permission denied" in outside.stderr
        server.socket_dir.chmod(0o755)
        inside = run_as_ordinary_user(USER, "-c", CONNECT, conninfo)
        assert "Peer authentication failed" in inside.stderr


def test_stopping_another_folder_does_not_affect_this_one(data_dir: Path, room: Path) -> None:
    with EmbeddedServer.start(data_dir):
        assert stop(room / "other")
        assert living(data_dir)
