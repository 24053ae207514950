"""The data folder: its files, its owner, and errors of the operating system about it.

::

    DATA_DIR/          0700, made if missing; its owner may connect as any role
    ├── pgdata/        the cluster, owned by the OS user that runs the server
    ├── users.lock     shared by every user of the server; the keeper waits for it exclusively
    ├── start.lock     held by the process that is starting the server
    ├── keeper.lock    held by the keeper while it runs
    ├── server.lock    held by keeper, postmaster and every backend (by initdb before them)
    ├── server.json    the socket folder and the settings of the latest start
    ├── server.log     the server's log; the previous one is server.log.1
    ├── owner.new      while the cluster is given to another OS user: the id of that user
    └── keep-running   while it exists, the server keeps running without users

When root uses another user's folder, the files that it makes belong to the folder's owner, who can
then use them. Modes of existing files are never changed, and owners only by `cluster`: it gives a cluster
of `nobody` to a user id of its own.
"""

import contextlib
import errno
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mnemic.errors import DataFolderError

LOG_LIMIT_BYTES = 10 * 1024 * 1024
LOG_TAIL_BYTES = 4096

_LOCK_NAMES = ("users.lock", "start.lock", "keeper.lock", "server.lock")

_ADVICE = {
    errno.EROFS: "the file system is read-only; choose a folder that can be written",
    errno.EACCES: "this user may not use it; choose another folder or have its rights changed",
    errno.EPERM: "this user may not use it; choose another folder or have its rights changed",
    errno.ENOSPC: "the file system is full; free some space or choose another folder",
    errno.EDQUOT: "the disk quota is used up; free some space or choose another folder",
    errno.ENOTDIR: "a part of the path is a file; choose another folder",
    errno.EEXIST: "there is a file of that name; choose another folder",
    errno.ELOOP: "it holds a symbolic link where a file must be; remove the link",
}


@dataclass(frozen=True)
class ServerRecord:
    """`server.json`: written by the latest start, read by processes that join."""

    socket_dir: Path
    settings: Mapping[str, str]


@dataclass(frozen=True)
class DataFolder:
    """Paths in the data folder, and its owner."""

    root: Path
    owner_uid: int
    owner_gid: int

    @property
    def pgdata(self) -> Path:
        return self.root / "pgdata"

    @property
    def users_lock(self) -> Path:
        return self.root / "users.lock"

    @property
    def start_lock(self) -> Path:
        return self.root / "start.lock"

    @property
    def keeper_lock(self) -> Path:
        return self.root / "keeper.lock"

    @property
    def server_lock(self) -> Path:
        return self.root / "server.lock"

    @property
    def log(self) -> Path:
        return self.root / "server.log"

    @property
    def keep_running(self) -> Path:
        return self.root / "keep-running"

    @property
    def intended_owner(self) -> Path:
        return self.root / "owner.new"

    @property
    def record(self) -> Path:
        return self.root / "server.json"


def prepare_folder(data_dir: Path) -> DataFolder:
    """Make the folder and its lock files if they are missing, and check that they can be used."""
    root = Path(os.path.abspath(data_dir))
    with folder_errors(root):
        root.parent.mkdir(parents=True, exist_ok=True)
        root.mkdir(mode=0o700, exist_ok=True)
        folder = _existing(root)
        _check_owner(folder)
        for name in _LOCK_NAMES:
            make_file(root / name, uid=folder.owner_uid, gid=folder.owner_gid)
    return folder


def find_folder(data_dir: Path) -> DataFolder | None:
    """The folder, or None if it does not exist; makes nothing."""
    root = Path(os.path.abspath(data_dir))
    with folder_errors(root):
        return _existing(root) if root.is_dir() else None


def read_record(folder: DataFolder) -> ServerRecord | None:
    """The latest start's record; None if it is missing or was damaged by a power failure."""
    try:
        fields = json.loads(folder.record.read_bytes())
        return ServerRecord(Path(fields["socket_dir"]), dict(fields["settings"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def write_record(folder: DataFolder, record: ServerRecord) -> None:
    text = json.dumps({"socket_dir": str(record.socket_dir), "settings": dict(record.settings)})
    with folder_errors(folder.root):
        replace_file(folder.record, text, uid=folder.owner_uid, gid=folder.owner_gid)


def read_intended_owner(folder: DataFolder) -> int | None:
    """The user id to which an interrupted start was giving the cluster."""
    try:
        return int(folder.intended_owner.read_text())
    except (FileNotFoundError, ValueError):
        return None


def open_log(folder: DataFolder) -> int:
    """A file descriptor that appends to `server.log`; a log that is too long is renamed first."""
    with folder_errors(folder.root):
        if folder.log.exists() and folder.log.stat().st_size > LOG_LIMIT_BYTES:
            folder.log.replace(folder.root / "server.log.1")
        make_file(folder.log, uid=folder.owner_uid, gid=folder.owner_gid)
        return os.open(folder.log, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)


def read_log(folder: DataFolder, *, since_bytes: int) -> str:
    """The end of the log, at most from the position `since_bytes` on."""
    with open(folder.log, "rb") as log:
        length_bytes = os.fstat(log.fileno()).st_size
        log.seek(max(since_bytes, length_bytes - LOG_TAIL_BYTES))
        return log.read(LOG_TAIL_BYTES).decode(errors="replace").strip()


def make_file(path: Path, *, uid: int, gid: int) -> None:
    """Make an empty private file unless there is one."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return
    with open(fd, "wb"):
        change_owner(fd, uid=uid, gid=gid)


def replace_file(path: Path, text: str, *, uid: int, gid: int) -> None:
    """Replace a private file atomically."""
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        change_owner(fd, uid=uid, gid=gid)
        file.write(text)
    new.replace(path)


def change_owner(fd: int, *, uid: int, gid: int) -> None:
    """Change the owner of a new file or folder; does nothing unless this process is root."""
    if os.geteuid() == 0:
        os.fchown(fd, uid, gid)


@contextlib.contextmanager
def folder_errors(root: Path) -> Iterator[None]:
    """Translate errors of the operating system about the data folder into `DataFolderError`."""
    try:
        yield
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, "choose another folder, or repair this one")
        raise DataFolderError(
            f"the data folder {root} cannot be used ({error.strerror or error}): {advice}"
        ) from error


def _existing(root: Path) -> DataFolder:
    status = root.stat()
    return DataFolder(root, owner_uid=status.st_uid, owner_gid=status.st_gid)


def _check_owner(folder: DataFolder) -> None:
    if os.geteuid() not in (0, folder.owner_uid):
        raise DataFolderError(
            f"the data folder {folder.root} belongs to the user with the id {folder.owner_uid}, "
            f"this process runs as {os.geteuid()}: choose a folder of your own"
        )
