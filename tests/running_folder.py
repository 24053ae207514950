"""Data folders whose server runs all the time, so that a test that opens `Memory` need not start one."""

from collections.abc import Iterator
from pathlib import Path

from mnemic.db.embedded import EmbeddedServer, stop


def running(data_dir: Path) -> Iterator[Path]:
    """For fixtures: the folder while its server runs."""
    with EmbeddedServer.start(data_dir):
        yield data_dir
    assert stop(data_dir), "the server ends with the session"
