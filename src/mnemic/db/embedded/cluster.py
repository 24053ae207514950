"""The cluster in `pgdata`: made once, checked at each start, with rules for who may connect.

A cluster is made under a temporary name and renamed when it is complete, so `pgdata` is either complete
or missing. A killed process leaves a `pgdata.new-…`, which the next start removes. The caller holds the
start lock.
"""

import contextlib
import os
import pwd
import shutil
from collections.abc import Iterator
from pathlib import Path

from mnemic.db.embedded.account import (
    Account,
    can_pass_open_folders,
    can_use,
    initdb_account,
    name_of,
    run_as,
)
from mnemic.db.embedded.binaries import Binaries
from mnemic.db.embedded.deadline import LOGGER, Deadline
from mnemic.db.embedded.folder import DataFolder, change_owner, folder_errors, replace_file
from mnemic.db.embedded.locks import FileLock
from mnemic.db.embedded.server_uid import FORMER_USER, give_tree
from mnemic.errors import DataFolderError, EmbeddedServerError

ADMIN_ROLE = "mnemic"
MINIMUM_FREE_BYTES = 128 * 1024 * 1024
FULL_DISK_BYTES = 1024 * 1024

_IDENT_MAP = "mnemic"
_INITDB_OPTIONS = (
    f"--username={ADMIN_ROLE}",
    "--auth=peer",
    "--encoding=UTF8",
)
# The built-in locale sorts and folds the same on every machine. The parser of full-text search goes by the
# ctype, which is the system's: in the ctype C, quotes and dashes beyond ASCII are letters. A system that does
# not have C.UTF-8 gets the ctype C.
_BUILTIN_LOCALE = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C")
_UTF8_CTYPE = "--lc-ctype=C.UTF-8"
_UNKNOWN_CTYPE = "invalid locale name"
_LIBC_LOCALE = ("--locale-provider=libc", "--locale=C.UTF-8")
_FIRST_WITH_BUILTIN_LOCALE = 17
_NOTE = "# Mnemic overwrites this file at each start.\n"
_FULL_DISK = ("No space left on device", "Disk quota exceeded")


def prepare_cluster(folder: DataFolder, account: Account, binaries: Binaries, deadline: Deadline) -> None:
    """Make the cluster if it is missing, check it, and write the rules for who may connect."""
    with folder_errors(folder.root):
        for leftover in folder.root.glob("pgdata.new-*"):
            shutil.rmtree(leftover)
        if not folder.pgdata.exists():
            _make_cluster(folder, account, binaries, deadline)
        _carry_over(folder, account)
        _check_version(folder, binaries.major_version)
        _check_reach(folder, account)
        _write_access_rules(folder, account)


def server_failure(folder: DataFolder, event: str, output: str) -> EmbeddedServerError:
    """The error for a failed program: `DataFolderError` if the disk is full."""
    output = output or "(nothing)"
    if any(sign in output for sign in _FULL_DISK):
        return DataFolderError(f"{event}: the file system of {folder.root} is full. Output:\n{output}")
    # On a full disk the message may not have been written to the log.
    free_bytes = shutil.disk_usage(folder.root).free
    if free_bytes < FULL_DISK_BYTES:
        return DataFolderError(
            f"{event}: the file system of {folder.root} has only {free_bytes} bytes left. Output:\n{output}"
        )
    return EmbeddedServerError(f"{event}. Output:\n{output}")


def _make_cluster(folder: DataFolder, account: Account, binaries: Binaries, deadline: Deadline) -> None:
    free_bytes = shutil.disk_usage(folder.root).free
    if free_bytes < MINIMUM_FREE_BYTES:
        raise DataFolderError(
            f"a new database needs {MINIMUM_FREE_BYTES // 2**20} MB, the file system of {folder.root} has "
            f"{free_bytes // 2**20} MB left: free some space or choose another data folder"
        )
    new = folder.root / f"pgdata.new-{os.urandom(6).hex()}"
    new.mkdir(mode=0o700)
    maker = initdb_account(account)
    try:
        _run_initdb(folder, new, maker, binaries, deadline)
        if maker != account:
            give_tree(new, from_uid=maker.uid, uid=account.uid, gid=account.gid)
        new.rename(folder.pgdata)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    _sync_folder(folder.root)


def _carry_over(folder: DataFolder, account: Account) -> None:
    """Give the cluster to the account if it belongs to another user; an interrupted start is continued."""
    owner_uid = folder.pgdata.stat().st_uid
    if not account.switched or (owner_uid == account.uid and not folder.intended_owner.exists()):
        return
    replace_file(folder.intended_owner, str(account.uid), uid=folder.owner_uid, gid=folder.owner_gid)
    former_uid = pwd.getpwnam(FORMER_USER).pw_uid
    give_tree(folder.pgdata, from_uid=former_uid, uid=account.uid, gid=account.gid)
    _sync_folder(folder.pgdata)
    folder.intended_owner.unlink()
    LOGGER.warning("the cluster %s now belongs to %s and no longer to nobody", folder.pgdata, account.name)


def _run_initdb(
    folder: DataFolder, new: Path, account: Account, binaries: Binaries, deadline: Deadline
) -> None:
    """Run initdb. It inherits the server's lock: if this process is killed, the next start waits for it."""
    waiting_for = "leftover processes of the server"
    with (
        FileLock.acquire(folder.server_lock, deadline, exclusive=True, waiting_for=waiting_for) as lock,
        _owned_by(account, new) as (path, fds),
    ):
        has_builtin = int(binaries.major_version) >= _FIRST_WITH_BUILTIN_LOCALE
        locale = (*_BUILTIN_LOCALE, _UTF8_CTYPE) if has_builtin else _LIBC_LOCALE
        command = [str(binaries.folder / "initdb"), "-D", path, *_INITDB_OPTIONS, *locale]
        done = run_as(account, command, timeout_s=deadline.remaining_s, pass_fds=(lock.fileno(), *fds))
        if _UNKNOWN_CTYPE in done.stdout and _UTF8_CTYPE in command:
            command.remove(_UTF8_CTYPE)
            done = run_as(account, command, timeout_s=deadline.remaining_s, pass_fds=(lock.fileno(), *fds))
    if done.returncode != 0:
        raise server_failure(folder, "the database could not be made", done.stdout.strip())


@contextlib.contextmanager
def _owned_by(account: Account, new: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Give a new folder to the account; yields a path that works below closed parents, and its files."""
    fd = os.open(new, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        change_owner(fd, uid=account.uid, gid=account.gid)
        if account.switched and can_pass_open_folders():
            yield f"/proc/self/fd/{fd}", (fd,)
        else:
            yield str(new), ()
    finally:
        os.close(fd)


def _check_version(folder: DataFolder, server_version: str) -> None:
    cluster_version = read_cluster_version(folder)
    if cluster_version is None:
        raise DataFolderError(
            f"{folder.pgdata} exists but is no PostgreSQL cluster (it has no PG_VERSION): "
            "move it away, or choose another data folder"
        )
    if cluster_version != server_version:
        raise DataFolderError(
            f"{folder.pgdata} was made by PostgreSQL {cluster_version}, this Mnemic brings {server_version}, "
            "which cannot read it. Open it with the Mnemic that made it, dump it there with pg_dump, and "
            "restore the dump into a new data folder."
        )


def read_cluster_version(folder: DataFolder) -> str | None:
    """The major version of PostgreSQL that made the cluster."""
    try:
        return (folder.pgdata / "PG_VERSION").read_text().strip()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _check_reach(folder: DataFolder, account: Account) -> None:
    if account.switched and not can_pass_open_folders() and not can_use(account, folder.pgdata):
        raise DataFolderError(
            f"the user {account.name}, who runs the server, cannot reach {folder.pgdata}: choose a data "
            "folder whose parents that user may enter"
        )


def _write_access_rules(folder: DataFolder, account: Account) -> None:
    """Let only the folder's owner and root connect, as any role, by peer authentication."""
    rules = f"local all all peer map={_IDENT_MAP}\nlocal replication all peer map={_IDENT_MAP}\n"
    names = sorted({name_of(0), name_of(folder.owner_uid)})
    identities = "".join(f"{_IDENT_MAP} {_quoted(name)} all\n" for name in names)
    for file_name, text in (("pg_hba.conf", _NOTE + rules), ("pg_ident.conf", _NOTE + identities)):
        path = folder.pgdata / file_name
        if not path.exists() or path.read_text(errors="replace") != text:
            replace_file(path, text, uid=account.uid, gid=account.gid)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sync_folder(path: Path) -> None:
    """Make a rename in this folder durable."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
