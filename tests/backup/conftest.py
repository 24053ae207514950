"""What the tests of erasing, moving and backing up share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    memory,
    open_memory,
    rows,
    superuser,
)
from tests.running_folder import running, running_new


@pytest.fixture(scope="session")
def backed_up_folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder whose server runs all the time."""
    yield from running(memory_dir / "backed up")


@pytest.fixture(scope="session")
def restored_folder(memory_dir: Path) -> Iterator[Path]:
    """Another one with another signing key, for restoring into."""
    yield from running_new(memory_dir / "restored")


@pytest.fixture(autouse=True)
def _no_background_comparisons(no_comparisons: None) -> None:
    """Tests here compare all rows of two moments; a comparison in between would change the backlog."""
