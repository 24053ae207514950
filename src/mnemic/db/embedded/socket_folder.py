"""The folder of the Unix socket: fresh for each start, private, short enough, outside the data.

The path of a socket has a limit of about a hundred bytes, so it cannot lie in the data folder,
whose path may be long. A new folder for each start also tells one start of the server from
another: a leftover `postmaster.pid` names a folder that is not ours.
"""

import os
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from mnemic.db.embedded.account import Account, can_use
from mnemic.db.embedded.folder import give_away
from mnemic.db.embedded.patience import LOGGER
from mnemic.db.embedded.settings import PORT
from mnemic.errors import EmbeddedServerError

SOCKET_NAME = f".s.PGSQL.{PORT}"
SOCKET_PATH_LIMIT_BYTES = 107 if sys.platform == "linux" else 103
CONNECT_TIMEOUT_S = 5.0

_PREFIX = "mnemic-"
_RANDOM_BYTES = 6


def make_socket_folder(account: Account, note: Callable[[Path], None]) -> Path:
    """A new folder that only the server's user (and root) can enter; the caller removes it.

    `note` is told each path before it is made: whoever kills us in between leaves no unknown folder.
    """
    refusals = []
    for parent in _candidates():
        folder = parent / f"{_PREFIX}{os.urandom(_RANDOM_BYTES).hex()}"
        refusal = _unfit(folder) or _make(folder, account, note)
        if refusal is None:
            return folder
        refusals.append(f"{parent} ({refusal})")
    raise EmbeddedServerError(
        "no folder can hold the server's socket: " + ", ".join(refusals) + ". Set TMPDIR to a folder with a "
        "short path that " + account.name + " can reach."
    )


def remove_socket_folder(folder: Path) -> None:
    """Remove the folder with what the server may have left in it; one that is gone is fine."""
    if not folder.name.startswith(_PREFIX):
        return  # A record that was tampered with must not make root remove anything else.
    try:
        for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):
            (folder / name).unlink(missing_ok=True)
        if folder.is_dir():
            folder.rmdir()
    except OSError as error:
        LOGGER.warning("the old socket folder %s stays behind: %s", folder, error)


def answers(folder: Path) -> bool:
    """Whether something accepts connections there."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(CONNECT_TIMEOUT_S)
        try:
            probe.connect(str(folder / SOCKET_NAME))
        except (ConnectionError, FileNotFoundError, TimeoutError, BlockingIOError):
            return False
    return True


def _candidates() -> list[Path]:
    runtime_dir = os.environ.get("XDG_RUNTIME_DIR") if os.geteuid() != 0 else None
    places = [runtime_dir, tempfile.gettempdir(), "/tmp", "/var/tmp"]  # noqa: S108
    return list(dict.fromkeys(Path(os.path.abspath(place)) for place in places if place))


def _unfit(folder: Path) -> str | None:
    length_bytes = len(os.fsencode(folder / SOCKET_NAME))
    if length_bytes > SOCKET_PATH_LIMIT_BYTES:
        return f"the socket's path would have {length_bytes} bytes, {SOCKET_PATH_LIMIT_BYTES} are possible"
    if set(str(folder)) & set(',"'):
        return "PostgreSQL takes commas and quotes in a socket's path for a list"
    return None


def _make(folder: Path, account: Account, note: Callable[[Path], None]) -> str | None:
    """Make the folder; says why not, if not."""
    note(folder)
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        return error.strerror or str(error)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        give_away(fd, uid=account.uid, gid=account.gid)
    finally:
        os.close(fd)
    if account.switched and not can_use(account, folder):
        folder.rmdir()
        return f"{account.name} cannot reach it"
    return None
