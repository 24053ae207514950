"""Data folders with a running server, so that tests that open `Memory` do not start one."""

from collections.abc import Iterator
from pathlib import Path

from mnemic.db.embedded import EmbeddedServer, stop


def running(data_dir: Path) -> Iterator[Path]:
    """For fixtures: the folder while its server runs."""
    with EmbeddedServer.start(data_dir):
        yield data_dir
    assert stop(data_dir), "the server ends with the session"
