"""Joining the server of a data folder, or starting it.

Three locks tell what is the case, whatever was killed when:

- ``keeper.lock`` held: a server runs, starts or is about to be gone. Wait until it is ready, then
  join it; if the keeper ends meanwhile, start anew.
- only ``server.lock`` held: the keeper is gone, but processes of its server still live (or an
  initdb whose starter was killed). They are ending; wait for them.
- neither: nothing of ours lives. Start a server.

The caller holds ``start.lock`` for all of it and shares ``users.lock``, so no keeper can decide
that nobody is left, and no second starter is at work.
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
from mnemic.db.embedded.patience import Patience
from mnemic.db.embedded.postmaster import forget_recycled_pid, read_postmaster_file, serves
from mnemic.db.embedded.settings import command_line
from mnemic.db.embedded.socket_folder import answers, make_socket_folder, remove_socket_folder
from mnemic.errors import ConfigurationError, EmbeddedServerError

# How long a server that calls itself ready may leave its socket unanswered before we give up on it.
UNSEEN_SOCKET_LIMIT_S = 10.0

_BAD_SETTING = ("unrecognized configuration parameter", "invalid value for parameter")


@dataclass(frozen=True)
class Launch:
    """What a start must know."""

    folder: DataFolder
    server_user: str
    settings: Mapping[str, str]
    binaries: Path


def join_or_start(launch: Launch, patience: Patience) -> bool:
    """Return when a server is ready for connections; True if this call has started it."""
    if _join(launch.folder, patience):
        return False
    _wait_for_leftovers(launch.folder, patience)
    _start(launch, patience)
    return True


def _join(folder: DataFolder, patience: Patience) -> bool:
    """Wait for a running server to be ready; False when there is none, or none any more."""
    unseen = Patience(UNSEEN_SOCKET_LIMIT_S)
    while is_locked(folder.keeper_lock):
        record = read_record(folder)
        if record is None or not _is_ready(folder, record.socket_dir):
            patience.pause(f"the server on {folder.root} to be ready")
        elif answers(record.socket_dir):
            return True
        elif unseen.left_s:
            patience.pause(f"the server on {folder.root} to answer")
        else:
            raise EmbeddedServerError(
                f"the server on {folder.root} runs, but this process cannot see its socket in "
                f"{record.socket_dir}: that folder was removed, or this process has a private /tmp. "
                "Close all users of the data folder (or run `mnemic stop`) and start again."
            )
    return False


def _wait_for_leftovers(folder: DataFolder, patience: Patience) -> None:
    while is_locked(folder.server_lock):
        interrupt_orphan(folder)
        patience.pause(f"processes of the previous server on {folder.root} to end")


def interrupt_orphan(folder: DataFolder) -> None:
    """Stop a postmaster without a keeper. Where the kernel has done it already it changes nothing."""
    file = read_postmaster_file(folder.pgdata)
    if file is not None and serves(file.pid, folder.pgdata):
        with contextlib.suppress(ProcessLookupError):
            os.kill(file.pid, signal.SIGINT)


def _start(launch: Launch, patience: Patience) -> None:
    folder = launch.folder
    account = server_account(folder, launch.server_user)
    binaries = runnable_binaries(account, launch.binaries, patience)
    prepare_cluster(folder, account, binaries, patience)
    with folder_errors(folder.root):
        forget_recycled_pid(folder.pgdata, patience)
    previous = read_record(folder)
    if previous is not None:
        remove_socket_folder(previous.socket_dir)
    socket_dir = make_socket_folder(
        account, lambda path: write_record(folder, ServerRecord(path, launch.settings))
    )
    try:
        log_bytes = _run_keeper(launch, account, binaries, socket_dir, patience)
    except BaseException:
        remove_socket_folder(socket_dir)  # From here on the keeper does it.
        raise
    _wait_until_ready(folder, socket_dir, log_bytes, patience)


def _run_keeper(
    launch: Launch, account: Account, binaries: Binaries, socket_dir: Path, patience: Patience
) -> int:
    """Start the keeper and wait until it holds its locks; returns the length of the log before it."""
    folder = launch.folder
    owner = [str(account.uid), str(account.gid)] if account.switched else ["", ""]
    # Not part of what is written down: whoever joins later would ask for another size.
    settings = {"shared_buffers": f"{cache_mb(folder.pgdata)}MB", **launch.settings}
    server = [str(binaries.folder / "postgres"), *command_line(settings, socket_dir)]
    keeper = [sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py"))]
    with open(open_log(folder), "ab") as log:
        log_bytes = os.fstat(log.fileno()).st_size
        begun = _begins([*keeper, str(folder.root), str(socket_dir), *owner, *server], log, patience)
    if not begun:
        raise _start_failure(folder, log_bytes)
    return log_bytes


def _begins(command: list[str], log: BinaryIO, patience: Patience) -> bool:
    """Whether the keeper has detached itself and taken its locks."""
    try:
        code = subprocess.call(
            command,
            cwd="/",
            env=server_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            timeout=patience.left_s,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EmbeddedServerError(f"the keeper of the server cannot be run: {error}") from error
    return code == 0


def _wait_until_ready(folder: DataFolder, socket_dir: Path, log_bytes: int, patience: Patience) -> None:
    waiting_for = f"the server on {folder.root} to be ready (after a crash it recovers first; let it)"
    while not (_is_ready(folder, socket_dir) and answers(socket_dir)):
        if not is_locked(folder.keeper_lock):
            raise _start_failure(folder, log_bytes)
        patience.pause(waiting_for)


def _is_ready(folder: DataFolder, socket_dir: Path) -> bool:
    file = read_postmaster_file(folder.pgdata)
    return file is not None and file.ready and file.socket_dir == str(socket_dir)


def _start_failure(folder: DataFolder, log_bytes: int) -> EmbeddedServerError | ConfigurationError:
    said = read_log(folder, since_bytes=log_bytes)
    if any(sign in said for sign in _BAD_SETTING):
        return ConfigurationError(f"PostgreSQL refuses one of the server settings. It said:\n{said}")
    return server_failure(folder, f"the server on {folder.root} did not start (see {folder.log})", said)
