"""A data folder for tests that open `Memory`; each test has its own tenant."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic import Memory
from tests.running_folder import running


@pytest.fixture(scope="session")
def folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder whose server runs during the whole session."""
    yield from running(memory_dir / "sdk")


@pytest.fixture
def memory(folder: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """An open memory in a tenant of this test."""
    with Memory(data_dir=folder, tenant=request.node.name, owner="alice", embedder="test") as memory:
        yield memory
