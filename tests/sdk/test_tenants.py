"""`Tenants`: memories of many tenants on one connection pool, isolated from each other."""

from pathlib import Path

import pytest

from mnemic.config import Settings
from mnemic.db.database import Database
from mnemic.errors import ClosedError
from mnemic.runtime.storage import Storage
from mnemic.sdk import tenants as tenants_module
from mnemic.sdk.tenants import Tenants


@pytest.fixture
async def tenants(database: Database) -> Tenants:
    """Tenants on the test's database, which its own fixture closes."""
    storage = Storage(database, await database.open_tenant("default"), server=None)
    return Tenants(Settings(embedder="test"), storage=storage)


async def test_memories_share_the_pool_and_are_isolated(tenants: Tenants) -> None:
    acme, other = await tenants.memory("acme"), await tenants.memory("other")
    assert acme.tenant != other.tenant
    await acme.retain("Alice moved to Berlin.", owner="alice")
    assert [hit.memory.content for hit in await acme.recall("Where is Alice?", owner="alice", refuse_below=0)]
    assert not list(await other.recall("Where is Alice?", owner="alice", refuse_below=0))
    assert (await tenants.core("acme")).storage.database is tenants.database


async def test_a_tenant_is_opened_once_and_closing_its_memory_leaves_it_open(tenants: Tenants) -> None:
    memory, core = await tenants.memory("acme"), await tenants.core("acme")
    await memory.aclose()
    again = await tenants.memory("acme")
    assert await tenants.core("acme") is core
    await again.retain("It works.", owner="alice")


async def test_the_least_recently_used_tenant_is_evicted_and_loses_no_count(
    tenants: Tenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenants_module, "TENANTS_MAX", 2)
    first, core = await tenants.memory("first"), await tenants.core("first")
    stored = await first.retain("Alice moved to Berlin.", owner="alice")
    await first.recall("Where is Alice?", owner="alice", refuse_below=0)
    for name in ("second", "third"):
        await tenants.memory(name)
    assert (await first.memories.get(stored.memory_ids[0], owner="alice")).retrieval_count == 1
    assert await tenants.core("first") is not core


async def test_closing_closes_all_memories_and_the_storage(folder: Path) -> None:
    async with Tenants(Settings(data_dir=folder, embedder="test")) as tenants:
        memory = await tenants.memory("acme")
        await memory.retain("Alice moved to Berlin.", owner="alice")
    with pytest.raises(ClosedError):
        await memory.recall("Alice", owner="alice")


async def test_closing_leaves_a_given_storage_open(database: Database, tenants: Tenants) -> None:
    async with tenants:
        await (await tenants.memory("acme")).retain("Alice moved to Berlin.", owner="alice")
    assert (await database.open_tenant("acme")).name == "acme"
