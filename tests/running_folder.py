"""Data folders with a running server, so that tests that open `Memory` do not start one.

Making a cluster and migrating its database takes 1.5 s of CPU time, so it is done once in a session; other
folders are copies. Copies have the same signing key. Tests that need another one use `running_new`.
"""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

from mnemic.db.access import embedded_access
from mnemic.db.connection import Limits
from mnemic.db.embedded import EmbeddedServer, stop

PREPARED = "prepared"


def running(data_dir: Path) -> Iterator[Path]:
    """For fixtures: the folder with a migrated database, while its server runs."""
    prepared = data_dir.with_name(PREPARED)
    if not prepared.exists():
        _prepare(prepared)
    subprocess.run(["cp", "-a", str(prepared), str(data_dir)], check=True)
    yield from running_new(data_dir)


def running_new(data_dir: Path) -> Iterator[Path]:
    """The same for a new folder without a database."""
    with EmbeddedServer.start(data_dir):
        yield data_dir
    assert stop(data_dir), "the server ends with the session"


def _prepare(data_dir: Path) -> None:
    with EmbeddedServer.start(data_dir) as server:
        asyncio.run(embedded_access(server, Limits()))
    assert stop(data_dir)
