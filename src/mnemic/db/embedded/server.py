"""Use the embedded server of a data folder, and look at it without using it.

Each user holds a share, the shared lock on `users.lock`: from `EmbeddedServer.start` until `close` or until
the process ends. A forked child never holds one. The server runs while any share is held; when the
last one is released, the keeper stops it.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from mnemic.db.embedded.binaries import check_cpu, server_binaries
from mnemic.db.embedded.cluster import read_cluster_version
from mnemic.db.embedded.deadline import LOGGER, Deadline
from mnemic.db.embedded.folder import (
    DataFolder,
    find_folder,
    folder_errors,
    make_file,
    prepare_folder,
    read_record,
)
from mnemic.db.embedded.launch import StartOptions, interrupt_orphan, join_or_start
from mnemic.db.embedded.locks import FileLock, is_locked
from mnemic.db.embedded.postmaster import read_postmaster_file
from mnemic.db.embedded.settings import PORT, merged_settings
from mnemic.errors import ClosedError, EmbeddedServerError

START_TIMEOUT_S = 300.0
STOP_TIMEOUT_S = 60.0

# One check can collide with the keeper's own check for an instant, but not this often.
_USER_CHECKS = 3
_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class EmbeddedServer:
    """One user's share in the server of a data folder. Safe to use from several threads."""

    def __init__(self, options: StartOptions, share: FileLock, *, start_timeout_s: float) -> None:
        self._options = options
        self._share = share
        self._start_timeout_s = start_timeout_s
        self._mutex = threading.Lock()

    @classmethod
    def start(
        cls,
        data_dir: Path,
        *,
        server_user: str | None = None,
        keep_running: bool = False,
        server_settings: Mapping[str, str] = _NO_SETTINGS,
        start_timeout_s: float = START_TIMEOUT_S,
        binaries: Path | None = None,
    ) -> Self:
        """Start the server of this folder, or join it if it runs; returns when it accepts connections.

        Blocks. Makes the folder and the cluster if they are missing. If the caller is root,
        `server_user` runs the server, or without one a user id of its own. `server_settings` take effect only
        if this call starts it.
        """
        check_cpu()
        settings = merged_settings(server_settings)
        folder = prepare_folder(Path(data_dir))
        options = StartOptions(folder, server_user, settings, binaries or server_binaries())
        deadline = Deadline(start_timeout_s)
        share = _take_share(folder, deadline)
        try:
            with _start_lock(folder, deadline):
                started = join_or_start(options, deadline)
                _set_keep_running(folder, keep_running, started=started)
                _compare_settings(folder, settings)
        except BaseException:
            share.release()
            raise
        return cls(options, share, start_timeout_s=start_timeout_s)

    @property
    def data_dir(self) -> Path:
        return self._options.folder.root

    @property
    def socket_dir(self) -> Path:
        """The current folder of the server's socket; it changes with each start of the server."""
        record = read_record(self._options.folder)
        if record is None:
            raise EmbeddedServerError(
                f"{self._options.folder.record} does not exist: was the data folder removed?"
            )
        return record.socket_dir

    def conninfo(self, *, user: str, dbname: str) -> str:
        """A libpq connection string; get a new one for each connection, since the socket may have moved."""
        # An empty hostaddr overrides PGHOSTADDR in the environment.
        parts = {"host": str(self.socket_dir), "hostaddr": "", "port": PORT, "user": user, "dbname": dbname}
        return " ".join(f"{keyword}={_quoted(value)}" for keyword, value in parts.items())

    def ensure_running(self) -> None:
        """Start the server again if it has stopped; raises `ClosedError` if the share has been released."""
        if not self._share.held:
            raise ClosedError(
                "the embedded server was closed here, or was opened by the parent process of a fork"
            )
        deadline = Deadline(self._start_timeout_s)
        with _start_lock(self._options.folder, deadline):
            join_or_start(self._options, deadline)

    def close(self) -> None:
        """Release the share without waiting; after the last one the server stops. Idempotent."""
        with self._mutex:
            self._share.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True)
class ServerStatus:
    """State of a data folder's server, read without starting it."""

    data_dir: Path
    running: bool
    pid: int | None
    socket_dir: Path | None
    keep_running: bool
    version: str | None
    """Major version of PostgreSQL that made the cluster; None if there is no cluster yet."""


def status(data_dir: Path) -> ServerStatus:
    """State of the server of a data folder; starts nothing, creates nothing."""
    folder = find_folder(Path(data_dir))
    if folder is None:
        return ServerStatus(Path(data_dir), False, None, None, keep_running=False, version=None)
    with folder_errors(folder.root):
        running = is_locked(folder.keeper_lock)
        file, record = read_postmaster_file(folder.pgdata), read_record(folder)
        return ServerStatus(
            data_dir=folder.root,
            running=running,
            pid=file.pid if running and file is not None else None,
            socket_dir=record.socket_dir if running and record is not None else None,
            keep_running=folder.keep_running.exists(),
            version=read_cluster_version(folder),
        )


def stop(data_dir: Path, timeout_s: float = STOP_TIMEOUT_S) -> bool:
    """End `keep_running` and wait until the server has stopped; whether it has.

    False at once if it is in use (it then stops after its last user), and after `timeout_s` if it is
    still shutting down.
    """
    folder = find_folder(Path(data_dir))
    if folder is None:
        return True
    deadline = Deadline(timeout_s)
    with folder_errors(folder.root):
        folder.keep_running.unlink(missing_ok=True)
        while is_locked(folder.keeper_lock) or is_locked(folder.server_lock):
            if _in_use(folder):
                return False
            if not is_locked(folder.keeper_lock):
                interrupt_orphan(folder)
            try:
                deadline.pause(f"the server on {folder.root} to stop")
            except EmbeddedServerError:
                return False
    return True


def _take_share(folder: DataFolder, deadline: Deadline) -> FileLock:
    waiting_for = f"the server on {folder.root} to stop, so that it can be started again"
    with folder_errors(folder.root):
        return FileLock.acquire(folder.users_lock, deadline, exclusive=False, waiting_for=waiting_for)


def _start_lock(folder: DataFolder, deadline: Deadline) -> FileLock:
    waiting_for = f"another process to start the server on {folder.root}"
    with folder_errors(folder.root):
        return FileLock.acquire(folder.start_lock, deadline, exclusive=True, waiting_for=waiting_for)


def _set_keep_running(folder: DataFolder, keep_running: bool, *, started: bool) -> None:
    """The file `keep-running` belongs to a running server: joining can add it, only a start removes it."""
    with folder_errors(folder.root):
        if keep_running:
            make_file(folder.keep_running, uid=folder.owner_uid, gid=folder.owner_gid)
        elif started:
            folder.keep_running.unlink(missing_ok=True)


def _compare_settings(folder: DataFolder, settings: Mapping[str, str]) -> None:
    record = read_record(folder)
    if record is not None and dict(record.settings) != settings:
        LOGGER.warning(
            "the server on %s was started with other settings; the requested ones apply at its next start",
            folder.root,
        )


def _in_use(folder: DataFolder) -> bool:
    return all(_has_users(folder) for _ in range(_USER_CHECKS))


def _has_users(folder: DataFolder) -> bool:
    """Whether users share the lock: it is not held exclusively, and cannot be taken exclusively."""
    if is_locked(folder.users_lock):
        return False
    lock = FileLock.try_acquire(folder.users_lock, exclusive=True)
    if lock is None:
        return True
    lock.release()
    return False


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
