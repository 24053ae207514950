"""Fixtures: a running server, and a memory in its own tenant."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from mnemic import AsyncMemory, Memory
from tests.running_folder import running


@pytest.fixture(scope="session")
def folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "adapters")


@pytest.fixture
def sync_memory(folder: Path) -> Iterator[Memory]:
    with Memory(data_dir=folder, tenant=f"tenant {uuid4()}", owner="alice", embedder="test") as memory:
        yield memory


@pytest.fixture
async def memory(folder: Path) -> AsyncIterator[AsyncMemory]:
    tenant = f"tenant {uuid4()}"
    async with AsyncMemory(data_dir=folder, tenant=tenant, owner="alice", embedder="test") as memory:
        yield memory
