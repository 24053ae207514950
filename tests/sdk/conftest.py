"""A data folder for tests that open `Memory` itself; a tenant of its own keeps each test apart."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic import Memory
from tests.running_folder import running


@pytest.fixture(scope="session")
def folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder whose server runs all the time, so that each test need not start one."""
    yield from running(memory_dir / "sdk")


@pytest.fixture
def memory(folder: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """An open memory in a tenant that is this test's alone."""
    with Memory(data_dir=folder, tenant=request.node.name, owner="alice", embedder="test") as memory:
        yield memory
