"""A user id of its own for each server that root runs, and how a cluster is given to it.

A process with the user id of the server owns the data: it can open the server's files through /proc,
trace the server and kill it. `nobody`, as which root's servers ran before, is shared by many services. So the
server gets a number of a range that neither distributions nor systemd assign, that no user, group or process
has, and that is below 65536, so that it also exists in containers with a user namespace. There is no entry in
/etc/passwd: nothing on the machine changes. The owner of the cluster's folder remembers the number.

initdb asks for the name of its user, so it runs as a named user without processes (`maker_name`); the
finished, still empty cluster is then given to the number.
"""

import grp
import os
import pwd
import random
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

# Unused by systemd (its document "Users, Groups, UIDs and GIDs on systemd systems") and by Debian's policy.
SERVER_UIDS = range(60_706, 61_184)
FORMER_USER = "nobody"
# System users of every Unix that rarely run anything; the last one is the fallback.
MAKER_NAMES = ("games", "lp", "bin", "daemon", FORMER_USER)

PROC = Path("/proc")
SUBORDINATE_UIDS = Path("/etc/subuid")


def free_server_uid() -> int | None:
    """A number that nothing on this machine uses, chosen at random; None if there is none."""
    taken = {uid for uid, _ in running_processes().values()} | set(_subordinate_uids())
    free = [uid for uid in SERVER_UIDS if uid not in taken and not _is_assigned(uid)]
    return random.choice(free) if free else None  # noqa: S311 - no secret, just another one for each folder.


def has_name(uid: int) -> bool:
    """Whether the passwd database has an entry for a user id."""
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def can_own(uid: int, folder: Path) -> bool:
    """Whether this process can give files in a folder to a user id; not where the id is not mapped."""
    probe = folder / f"owner.probe-{os.urandom(6).hex()}"
    fd = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        os.fchown(fd, uid, uid)
    except OSError:
        return False
    finally:
        os.close(fd)
        probe.unlink()
    return True


def maker_name() -> str:
    """The named user that runs initdb: one without processes, which could meddle with the new cluster."""
    busy = {uid for uid, _ in running_processes().values()}
    names = [name for name in MAKER_NAMES if _uid_of(name) is not None]
    return next((name for name in names if _uid_of(name) not in busy), FORMER_USER)


def give_tree(root: Path, *, from_uid: int, uid: int, gid: int) -> None:
    """Give a folder and everything in it to another user; PermissionError for files of a third user.

    From the top down: as soon as a folder has its new owner, the former one can no longer exchange what is in
    it. Links are not followed. A file with a second name elsewhere was planted, and is refused as well.
    """
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _give_folder(fd, str(root), (from_uid, uid), uid, gid)
    finally:
        os.close(fd)


def running_processes() -> dict[int, tuple[int, int]]:
    """User id and parent of every process by its pid; empty where there is no /proc."""
    return {int(entry.name): found for entry in PROC.glob("[0-9]*") if (found := _uid_and_parent(entry))}


def foreign_processes(uid: int, postmaster: int | None) -> list[int]:
    """Processes of a user that are not part of the server with this postmaster."""
    processes = running_processes()

    def is_ours(pid: int) -> bool:
        return pid == postmaster or (pid in processes and is_ours(processes[pid][1]))

    return sorted(pid for pid, (owner, _) in processes.items() if owner == uid and not is_ours(pid))


def _give_folder(fd: int, path: str, known_uids: Collection[int], uid: int, gid: int) -> None:
    _check_owner(os.fstat(fd), path, known_uids)
    os.fchown(fd, uid, gid)
    with os.scandir(fd) as entries:
        for entry in entries:
            below = os.path.join(path, entry.name)
            status = os.stat(entry.name, dir_fd=fd, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                child = os.open(entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
                try:
                    _give_folder(child, below, known_uids, uid, gid)
                finally:
                    os.close(child)
                continue
            _check_owner(status, below, known_uids)
            if status.st_nlink > 1:
                raise PermissionError(f"{below} has a second name elsewhere: remove one of them")
            os.chown(entry.name, uid, gid, dir_fd=fd, follow_symlinks=False)


def _check_owner(status: os.stat_result, path: str, known_uids: Collection[int]) -> None:
    if status.st_uid not in known_uids:
        raise PermissionError(f"{path} belongs to the user with the id {status.st_uid}, not to the server's")


def _uid_and_parent(process: Path) -> tuple[int, int] | None:
    try:
        fields = dict(
            line.partition(":")[::2] for line in (process / "status").read_text(errors="replace").splitlines()
        )
        return int(fields["Uid"].split()[1]), int(fields["PPid"])
    except (OSError, KeyError):
        return None  # It has just ended.


def _subordinate_uids() -> Iterator[int]:
    """Numbers of the range that are assigned to containers of users."""
    try:
        lines = SUBORDINATE_UIDS.read_text(errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        parts = line.split(":")
        if len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit():
            first, count = int(parts[1]), int(parts[2])
            yield from (uid for uid in SERVER_UIDS if first <= uid < first + count)


def _is_assigned(uid: int) -> bool:
    try:
        grp.getgrgid(uid)
    except KeyError:
        return has_name(uid)
    return True


def _uid_of(name: str) -> int | None:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None
