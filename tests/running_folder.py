"""Data folders with a running server, so that tests that open `Memory` do not start one.

They are copies of one folder, with the same signing key (`tests/prepared_folder.py`). Tests that need another
key, or a folder without a database, use `running_new`.
"""

from collections.abc import Iterator
from pathlib import Path

from mnemic.db.embedded import EmbeddedServer, stop
from tests.prepared_folder import copy_prepared


def running(data_dir: Path) -> Iterator[Path]:
    """For fixtures: the folder with a migrated database, while its server runs."""
    copy_prepared(data_dir)
    yield from running_new(data_dir)


def running_new(data_dir: Path) -> Iterator[Path]:
    """The same for a new folder without a database."""
    with EmbeddedServer.start(data_dir):
        yield data_dir
    assert stop(data_dir), "the server ends with the session"
