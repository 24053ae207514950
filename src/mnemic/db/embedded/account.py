"""The OS user that runs the server, and the folders that this user can access.

An ordinary user runs the server itself. PostgreSQL refuses to run as root, so root runs it as
another user: as the owner of the cluster if there is one, else as the owner of the data folder,
else (both belong to root) as the configured `server_user`, or without one as a user id of its own
(`server_uid`). A cluster of `nobody`, the user of earlier versions, gets such an id, too. The user gets
no supplementary groups and a nearly empty environment: the caller's environment may hold secrets.
"""

import os
import pwd
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mnemic.db.embedded.deadline import LOGGER
from mnemic.db.embedded.folder import DataFolder, find_folder, read_intended_owner
from mnemic.db.embedded.server_uid import (
    FORMER_USER,
    SERVER_UIDS,
    can_own,
    foreign_processes,
    free_server_uid,
    has_name,
    maker_name,
)
from mnemic.errors import ConfigurationError, DataFolderError, EmbeddedServerError

# The only variables of the caller's environment that the binaries may need.
_PASSED_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


@dataclass(frozen=True)
class Account:
    """The user that runs initdb and the server; `switched` if this process runs as another user."""

    name: str
    uid: int
    gid: int
    switched: bool
    has_name: bool = True
    """False for a user id without an entry in the passwd database."""


def server_account(folder: DataFolder, server_user: str | None) -> Account:
    """Choose the user that runs the server of this folder."""
    if os.geteuid() == 0:
        return _account_for_root(folder, server_user)
    account = _entry_of(os.geteuid())
    if folder.pgdata.exists() and folder.pgdata.stat().st_uid != account.pw_uid:
        raise DataFolderError(
            f"{folder.pgdata} belongs to another user than {account.pw_name}: PostgreSQL runs only as the "
            "owner of its files. Run Mnemic as that owner (or as root), or choose another data folder."
        )
    return Account(account.pw_name, account.pw_uid, account.pw_gid, switched=False)


def initdb_account(account: Account) -> Account:
    """The user that makes the cluster of this account: initdb needs one with a name."""
    return _as_account(_entry_named(maker_name())) if not account.has_name else account


@dataclass(frozen=True)
class AccountStatus:
    """The user of a cluster, and whether others run as the same user."""

    name: str
    is_owner: bool
    """Whether the data folder belongs to that user."""
    is_former: bool
    """Whether it is `nobody`, which many services share."""
    foreign_pids: list[int]
    """Processes of that user besides the server; empty if the data folder belongs to the user."""


def account_status(data_dir: Path, postmaster: int | None) -> AccountStatus | None:
    """The user of the cluster in a data folder; None if there is no cluster."""
    folder = find_folder(data_dir)
    if folder is None or not folder.pgdata.exists():
        return None
    uid = folder.pgdata.stat().st_uid
    name = _entry_of(uid).pw_name if has_name(uid) else f"the user id {uid}"
    is_owner = uid == folder.owner_uid
    foreign = [] if is_owner else foreign_processes(uid, postmaster)
    return AccountStatus(name, is_owner, not is_owner and name == FORMER_USER, foreign)


def run_as(
    account: Account, command: list[str], *, timeout_s: float, pass_fds: tuple[int, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a short program as this account; returns its standard output and error as one text.

    Raises `EmbeddedServerError` if it cannot be run, or does not end in time.
    """
    try:
        return subprocess.run(
            command,
            user=account.uid if account.switched else None,
            group=account.gid if account.switched else None,
            extra_groups=[] if account.switched else None,
            pass_fds=pass_fds,
            cwd="/",
            env=server_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout_s,
            umask=0o077,
        )
    except subprocess.TimeoutExpired as error:
        raise EmbeddedServerError(f"{command[0]} did not end within {timeout_s:.0f} s") from error
    except OSError as error:
        raise EmbeddedServerError(f"{command[0]} cannot be run as {account.name}: {error}") from error


def can_use(account: Account, folder: Path) -> bool:
    """Whether the account can write into a folder, tested by a process of that user."""
    test = ["/bin/sh", "-c", 'test -w "$1" && test -x "$1"', "sh", str(folder)]
    return run_as(account, test, timeout_s=10.0).returncode == 0


def server_environment() -> dict[str, str]:
    """The environment of the server and its keeper."""
    passed = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"} | passed


def can_pass_open_folders() -> bool:
    """Whether another user's process can inherit an open folder that lies below folders closed to that user.

    On Linux, /proc/self/fd/N opens such a folder without permissions on its parents.
    """
    return sys.platform == "linux"


def name_of(uid: int) -> str:
    """The login name, which is what peer authentication compares."""
    return _entry_of(uid).pw_name


def _account_for_root(folder: DataFolder, server_user: str | None) -> Account:
    if folder.pgdata.exists():
        return _account_for_cluster(folder, server_user)
    if folder.owner_uid != 0:
        return _as_account(_entry_of(folder.owner_uid))
    return _as_account(_entry_named(server_user)) if server_user else _own_account(folder)


def _account_for_cluster(folder: DataFolder, server_user: str | None) -> Account:
    owner_uid = read_intended_owner(folder) or folder.pgdata.stat().st_uid
    if owner_uid == 0:
        raise DataFolderError(
            f"{folder.pgdata} belongs to root, and PostgreSQL refuses to run as root. "
            f"Give it to an unprivileged user: chown -R {server_user or FORMER_USER} '{folder.pgdata}'"
        )
    if owner_uid in SERVER_UIDS and not has_name(owner_uid):
        return _numbered(owner_uid)
    account = _as_account(_entry_of(owner_uid))
    if account.name == FORMER_USER and folder.owner_uid == 0 and not server_user and _is_movable(folder):
        return _own_account(folder)
    return account


def _own_account(folder: DataFolder) -> Account:
    """A user id for this folder only; `nobody` where such an id cannot be used."""
    uid = free_server_uid()
    if uid is not None and can_own(uid, folder.root):
        return _numbered(uid)
    LOGGER.warning(
        "the server on %s runs as %s, as which other services may run: files cannot be given to a user id of "
        "its own here. Set server_user to a user that nothing else uses.",
        folder.root,
        FORMER_USER,
    )
    return _as_account(_entry_named(FORMER_USER))


def _is_movable(folder: DataFolder) -> bool:
    """Whether all files of the cluster are below its folder; tablespaces are elsewhere."""
    tablespaces = folder.pgdata / "pg_tblspc"
    return not (tablespaces.is_dir() and os.listdir(tablespaces))


def _numbered(uid: int) -> Account:
    return Account(f"the user id {uid}", uid, uid, switched=True, has_name=False)


def _as_account(entry: pwd.struct_passwd) -> Account:
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, switched=True)


def _entry_named(server_user: str) -> pwd.struct_passwd:
    try:
        entry = pwd.getpwnam(server_user)
    except KeyError:
        raise ConfigurationError(
            f"there is no OS user {server_user!r} to run the embedded server: "
            "set server_user to one that exists"
        ) from None
    if entry.pw_uid == 0:
        raise ConfigurationError("server_user must not be root: PostgreSQL refuses to run as root")
    return entry


def _entry_of(uid: int) -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        raise EmbeddedServerError(
            f"the user id {uid} has no entry in the passwd database, and PostgreSQL needs its name. "
            "Add one (in a container: a line in /etc/passwd), or use a PostgreSQL of your own by URL."
        ) from None
