"""A server for the readers of the docs: their examples open `Memory()` itself and need a whole folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.db.embedded import EmbeddedServer, stop


@pytest.fixture(scope="session")
def readers_folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder whose server runs all the time, so that each page need not start one."""
    data_dir = memory_dir / "readers"
    with EmbeddedServer.start(data_dir):
        yield data_dir
    assert stop(data_dir), "the server ends with the session"
