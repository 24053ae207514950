"""The OS user that runs the server, and the folders that this user can access.

An ordinary user runs the server itself. PostgreSQL refuses to run as root, so root runs it as
another user: as the owner of the cluster if there is one, else as the owner of the data folder,
else (both belong to root) as the configured `server_user`. That user gets no supplementary groups
and a nearly empty environment: the caller's environment may hold secrets.
"""

import os
import pwd
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mnemic.db.embedded.folder import DataFolder
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


def server_account(folder: DataFolder, server_user: str) -> Account:
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


def _account_for_root(folder: DataFolder, server_user: str) -> Account:
    if folder.pgdata.exists():
        owner_uid = folder.pgdata.stat().st_uid
        if owner_uid == 0:
            raise DataFolderError(
                f"{folder.pgdata} belongs to root, and PostgreSQL refuses to run as root. "
                f"Give it to an unprivileged user: chown -R {server_user} '{folder.pgdata}'"
            )
        entry = _entry_of(owner_uid)
    else:
        entry = _entry_of(folder.owner_uid) if folder.owner_uid != 0 else _entry_named(server_user)
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
