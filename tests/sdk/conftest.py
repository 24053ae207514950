"""A data folder for tests that open `Memory` itself; a tenant of its own keeps each test apart."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.db.embedded import EmbeddedServer, stop


@pytest.fixture(scope="session")
def folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder whose server runs all the time, so that each test need not start one."""
    data_dir = memory_dir / "sdk"
    with EmbeddedServer.start(data_dir):
        yield data_dir
    assert stop(data_dir), "the server ends with the session"


@pytest.fixture
def memory(folder: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """An open memory in a tenant that is this test's alone."""
    with Memory(data_dir=folder, tenant=request.node.name, owner="alice", embedder="test") as memory:
        yield memory
