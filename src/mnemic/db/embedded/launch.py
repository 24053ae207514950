"""Join the running server of a data folder, or start it.

The state is read from locks, which stay correct whichever process is killed:

- ``keeper.lock`` held: a server runs, starts or stops. Wait until it is ready, then join it; if the
  keeper ends first, start a server.
- only ``server.lock`` held: the keeper has ended, but processes of its server still run (or an initdb
  whose starter was killed). They are ending; wait for them.
- neither: no process of this server runs. Start a server.

The caller holds ``start.lock`` throughout and shares ``users.lock``, so no keeper stops the server and
no other process starts one.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mnemic.db.embedded.account import Account, server_account, server_environment
from mnemic.db.embedded.binaries import Binaries, runnable_binaries
from mnemic.db.embedded.cache import cache_mb
from mnemic.db.embedded.cluster import prepare_cluster, server_failure
from mnemic.db.embedded.deadline import Deadline
from mnemic.db.embedded.folder import (
    DataFolder,
    ServerRecord,
    folder_errors,
    open_log,
    read_log,
    read_record,
    write_record,
)
from mnemic.db.embedded.locks import is_locked
from mnemic.db.embedded.postmaster import is_server_of, read_postmaster_file, remove_stale_pid_file
from mnemic.db.embedded.settings import command_line, recovery_settings
from mnemic.db.embedded.socket_folder import accepts_connections, make_socket_folder, remove_socket_folder
from mnemic.errors import ConfigurationError, EmbeddedServerError

# How long a server that reports itself ready may not accept connections before this is an error.
SOCKET_TIMEOUT_S = 10.0

_BAD_SETTING = ("unrecognized configuration parameter", "invalid value for parameter")


@dataclass(frozen=True)
class StartOptions:
    """What a start of the server needs."""

    folder: DataFolder
    server_user: str | None
    settings: Mapping[str, str]
    binaries: Path


def join_or_start(options: StartOptions, deadline: Deadline) -> bool:
    """Return when a server accepts connections; True if this call has started it."""
    if _join(options.folder, deadline):
        return False
    _wait_for_leftovers(options.folder, deadline)
    _start(options, deadline)
    return True


def _join(folder: DataFolder, deadline: Deadline) -> bool:
    """Wait until a running server is ready; False if there is none, or if it stops."""
    socket_deadline = Deadline(SOCKET_TIMEOUT_S)
    while is_locked(folder.keeper_lock):
        record = read_record(folder)
        if record is None or not _is_ready(folder, record.socket_dir):
            deadline.pause(f"the server on {folder.root} to be ready")
        elif accepts_connections(record.socket_dir):
            return True
        elif socket_deadline.remaining_s:
            deadline.pause(f"the server on {folder.root} to answer")
        else:
            raise EmbeddedServerError(
                f"the server on {folder.root} runs, but this process cannot see its socket in "
                f"{record.socket_dir}: that folder was removed, or this process has a private /tmp. "
                "Close all users of the data folder (or run `mnemic stop`) and start again."
            )
    return False


def _wait_for_leftovers(folder: DataFolder, deadline: Deadline) -> None:
    while is_locked(folder.server_lock):
        interrupt_orphan(folder)
        deadline.pause(f"processes of the previous server on {folder.root} to end")


def interrupt_orphan(folder: DataFolder) -> None:
    """Stop a postmaster whose keeper has ended. On Linux the kernel has done so already."""
    file = read_postmaster_file(folder.pgdata)
    if file is not None and is_server_of(file.pid, folder.pgdata):
        with contextlib.suppress(ProcessLookupError):
            os.kill(file.pid, signal.SIGINT)


def _start(options: StartOptions, deadline: Deadline) -> None:
    folder = options.folder
    account = server_account(folder, options.server_user)
    binaries = runnable_binaries(account, options.binaries, deadline)
    with folder_errors(folder.root):
        # First, because the cluster must not be given to another user under a running server.
        remove_stale_pid_file(folder.pgdata, deadline)
    prepare_cluster(folder, account, binaries, deadline)
    previous = read_record(folder)
    if previous is not None:
        remove_socket_folder(previous.socket_dir)
    socket_dir = make_socket_folder(
        account, lambda path: write_record(folder, ServerRecord(path, options.settings))
    )
    try:
        log_bytes = _run_keeper(options, account, binaries, socket_dir, deadline)
    except BaseException:
        remove_socket_folder(socket_dir)  # A running keeper removes it itself.
        raise
    _wait_until_ready(folder, socket_dir, log_bytes, deadline)


def _run_keeper(
    options: StartOptions, account: Account, binaries: Binaries, socket_dir: Path, deadline: Deadline
) -> int:
    """Start the keeper and wait until it holds its locks; returns the length of the log before it."""
    folder = options.folder
    owner = [str(account.uid), str(account.gid)] if account.switched else ["", ""]
    # Not written to `server.json`: a process that joins later would compute another size.
    computed = {"shared_buffers": f"{cache_mb(folder.pgdata)}MB", **recovery_settings()}
    settings = {**computed, **options.settings}
    server = [str(binaries.folder / "postgres"), *command_line(settings, socket_dir)]
    keeper = [sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py"))]
    with open(open_log(folder), "ab") as log:
        log_bytes = os.fstat(log.fileno()).st_size
        started = _starts_keeper([*keeper, str(folder.root), str(socket_dir), *owner, *server], log, deadline)
    if not started:
        raise _start_failure(folder, log_bytes)
    return log_bytes


def _starts_keeper(command: list[str], log: BinaryIO, deadline: Deadline) -> bool:
    """Run the keeper; whether it has detached itself and holds its locks."""
    try:
        code = subprocess.call(
            command,
            cwd="/",
            env=server_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            timeout=deadline.remaining_s,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EmbeddedServerError(f"the keeper of the server cannot be run: {error}") from error
    return code == 0


def _wait_until_ready(folder: DataFolder, socket_dir: Path, log_bytes: int, deadline: Deadline) -> None:
    waiting_for = f"the server on {folder.root} to be ready (after a crash it runs recovery first)"
    while not (_is_ready(folder, socket_dir) and accepts_connections(socket_dir)):
        if not is_locked(folder.keeper_lock):
            raise _start_failure(folder, log_bytes)
        deadline.pause(waiting_for)


def _is_ready(folder: DataFolder, socket_dir: Path) -> bool:
    file = read_postmaster_file(folder.pgdata)
    return file is not None and file.ready and file.socket_dir == str(socket_dir)


def _start_failure(folder: DataFolder, log_bytes: int) -> EmbeddedServerError | ConfigurationError:
    output = read_log(folder, since_bytes=log_bytes)
    if any(sign in output for sign in _BAD_SETTING):
        return ConfigurationError(f"PostgreSQL refuses one of the server settings. Output:\n{output}")
    return server_failure(folder, f"the server on {folder.root} did not start (see {folder.log})", output)
