"""The folder of the Unix socket: new for each start, private, with a short path, outside the data folder.

The path of a socket is limited to about a hundred bytes, so the socket cannot be in the data folder, whose
path may be long. A new folder for each start also identifies the start: a stale `postmaster.pid` names
another folder.
"""

import os
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from mnemic.db.embedded.account import Account, can_use
from mnemic.db.embedded.deadline import LOGGER
from mnemic.db.embedded.folder import change_owner
from mnemic.db.embedded.settings import PORT
from mnemic.errors import EmbeddedServerError

SOCKET_NAME = f".s.PGSQL.{PORT}"
SOCKET_PATH_LIMIT_BYTES = 107 if sys.platform == "linux" else 103
CONNECT_TIMEOUT_S = 5.0

_PREFIX = "mnemic-"
_RANDOM_BYTES = 6


def make_socket_folder(account: Account, record: Callable[[Path], None]) -> Path:
    """A new folder that only the server's user (and root) can enter; the caller removes it.

    `record` is called with each path before it is made, so that the next start can remove the folder of a
    killed process.
    """
    problems = []
    for parent in _candidates():
        folder = parent / f"{_PREFIX}{os.urandom(_RANDOM_BYTES).hex()}"
        problem = _path_problem(folder) or _make(folder, account, record)
        if problem is None:
            return folder
        problems.append(f"{parent} ({problem})")
    raise EmbeddedServerError(
        "no folder can hold the server's socket: " + ", ".join(problems) + ". Set TMPDIR to a folder with a "
        "short path that " + account.name + " can reach."
    )


def remove_socket_folder(folder: Path) -> None:
    """Remove the folder and the server's files in it, if it exists."""
    if not folder.name.startswith(_PREFIX):
        return  # A manipulated record must not make root remove another folder.
    try:
        for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):
            (folder / name).unlink(missing_ok=True)
        if folder.is_dir():
            folder.rmdir()
    except OSError as error:
        LOGGER.warning("the old socket folder %s cannot be removed: %s", folder, error)


def accepts_connections(folder: Path) -> bool:
    """Whether a server accepts connections on the socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(CONNECT_TIMEOUT_S)
        try:
            probe.connect(str(folder / SOCKET_NAME))
        except (ConnectionError, FileNotFoundError, TimeoutError, BlockingIOError):
            return False
    return True


def _candidates() -> list[Path]:
    runtime_dir = os.environ.get("XDG_RUNTIME_DIR") if os.geteuid() != 0 else None
    folders = [runtime_dir, tempfile.gettempdir(), "/tmp", "/var/tmp"]  # noqa: S108
    return list(dict.fromkeys(Path(os.path.abspath(folder)) for folder in folders if folder))


def _path_problem(folder: Path) -> str | None:
    length_bytes = len(os.fsencode(folder / SOCKET_NAME))
    if length_bytes > SOCKET_PATH_LIMIT_BYTES:
        return f"the socket's path would have {length_bytes} bytes, {SOCKET_PATH_LIMIT_BYTES} are possible"
    if set(str(folder)) & set(',"'):
        return "PostgreSQL takes commas and quotes in a socket's path for a list"
    return None


def _make(folder: Path, account: Account, record: Callable[[Path], None]) -> str | None:
    """Make the folder; returns the problem, if any."""
    record(folder)
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        return error.strerror or str(error)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        change_owner(fd, uid=account.uid, gid=account.gid)
    finally:
        os.close(fd)
    if account.switched and not can_use(account, folder):
        folder.rmdir()
        return f"{account.name} cannot reach it"
    return None
