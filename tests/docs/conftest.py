"""A server for the readers of the docs: their examples open `Memory()` itself and need a whole folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running_folder import running


@pytest.fixture(scope="session")
def readers_folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder whose server runs all the time, so that each page need not start one."""
    yield from running(memory_dir / "readers")
