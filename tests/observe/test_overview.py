"""The overview of a tenant, and the snapshots of its views."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.errors import InvalidInputError
from mnemic.jobs.queue import enqueue
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.overview import SNAPSHOT_NAMES
from tests.conftest import AppConnection, ConnectAs
from tests.opened import core_of, opened


@pytest.fixture
def memory(database: Database, tenant_a: Tenant) -> AsyncMemory:
    """Tenant A's memory with the test model, which logs what it reads."""
    return opened(database, tenant_a, embedder="test", settings={"memory_log": "reads"})


async def snapshot(memory: AsyncMemory, name: str, *, refresh: bool = True) -> list[Any]:
    taken = await memory.metrics.snapshots(refresh=refresh)
    return next(list(one.rows) for one in taken if one.name == name)


async def test_the_overview_of_an_empty_tenant_is_all_zeros(memory: AsyncMemory) -> None:
    overview = await memory.metrics.overview()
    assert {name: latency.call_count for name, latency in overview.latency.items()} == {
        "retain": 0,
        "recall": 0,
    }
    assert (overview.latency_24h, overview.archived_per_day) == ({}, {})
    assert (overview.queue.waiting_count, overview.queue.oldest_ready_s) == (0, None)
    assert (overview.events.last_position, overview.events.consumer_lag) == (0, 0)
    assert overview.awaiting_embedding_count == 0


async def test_the_overview_counts_calls_jobs_and_events(memory: AsyncMemory, admin: AppConnection) -> None:
    await memory.retain("Alice plays the cello.")
    await memory.recall("cello", refuse_below=0)
    await memory.recall("quantum chromodynamics", refuse_below=1)
    with pytest.raises(InvalidInputError):
        await memory.retain("")
    async with core_of(memory).storage.tenant_database.transaction() as transaction:
        await enqueue(transaction, "sync.run")
        await enqueue(transaction, "sync.run", run_at=datetime.now(UTC) + timedelta(hours=1))
    admin.execute("UPDATE queue.jobs SET run_at = now() - interval '1 minute' WHERE state = 'waiting'")
    overview = await memory.metrics.overview()
    assert (overview.latency["recall"].call_count, overview.latency["recall"].refused_count) == (2, 1)
    assert (overview.latency["retain"].call_count, overview.latency["retain"].failed_count) == (2, 1)
    assert overview.latency["recall"].p95_ms is not None
    assert (overview.latency_24h["recall"].call_count, overview.latency_24h["recall"].refused_count) == (2, 1)
    assert overview.latency_24h["retain"].p99_ms is not None
    assert (overview.queue.waiting_count, overview.queue.scheduled_count) == (1, 1)
    assert 60 <= (overview.queue.oldest_ready_s or 0) < 120
    assert overview.events.unsequenced_count >= 1


async def test_another_tenant_is_not_counted(memory: AsyncMemory, foreign_memory: AsyncMemory) -> None:
    await memory.retain("Alice plays the cello.")
    async with core_of(memory).storage.tenant_database.transaction() as transaction:
        await enqueue(transaction, "sync.run")
    theirs = await foreign_memory.metrics.overview()
    assert (theirs.queue.waiting_count, theirs.events.unsequenced_count, theirs.latency_24h) == (0, 0, {})
    assert (await snapshot(foreign_memory, "tenant_summary"))[0]["memory_count"] == 0
    await snapshot(memory, "tenant_summary")
    assert (await snapshot(foreign_memory, "tenant_summary", refresh=False))[0]["memory_count"] == 0


async def test_a_snapshot_stays_until_the_next_one_is_taken(memory: AsyncMemory) -> None:
    assert await memory.metrics.snapshots() == []
    taken = await memory.metrics.snapshots(refresh=True)
    assert sorted(one.name for one in taken) == sorted(SNAPSHOT_NAMES)
    await memory.retain("Alice plays the cello.")
    assert (await snapshot(memory, "tenant_summary", refresh=False))[0]["active_count"] == 0
    summary = (await snapshot(memory, "tenant_summary"))[0]
    assert (summary["active_count"], summary["owner_count"], summary["memory_count"]) == (1, 1, 1)


async def test_snapshots_show_stale_memories_dead_references_and_growth(
    memory: AsyncMemory, admin: AppConnection
) -> None:
    first = (await memory.retain("Alice plays the cello.", category="factual")).memory_ids[0]
    second = (await memory.retain("Alice owns a cello.", evidence=first)).memory_ids[0]
    await memory.memories.relate(first, second, "supports")
    await memory.memories.forget(first)
    admin.execute(
        "UPDATE state.memories SET created_at = now() - interval '91 days' WHERE deleted_at IS NULL"
    )
    # Evidence is also a relationship: derived from.
    dead = {row["kind"]: row["dead_count"] for row in await snapshot(memory, "dead_xrefs")}
    assert dead == {"relationship": 2, "successor": 0, "evidence": 1, "entity fact": 0}
    (stale,) = await snapshot(memory, "stale_active", refresh=False)
    assert (stale["active_count"], stale["unused_30d_count"], stale["unused_90d_count"]) == (1, 1, 1)
    growth = await snapshot(memory, "growth_7d", refresh=False)
    assert [row["day"] for row in growth] == sorted(row["day"] for row in growth)
    assert len(growth) == 7
    assert (growth[-1]["retained_count"], growth[-1]["forgotten_count"]) == (1, 1)
    overview = await memory.metrics.overview()
    assert list(overview.archived_per_day) == [row["day"] for row in growth]


async def test_erasing_an_owner_removes_it_from_snapshots(memory: AsyncMemory, admin: AppConnection) -> None:
    await memory.retain("Zenobia keeps bees.", owner="zenobia", conversation="apollo", tags=["apiary"])
    await memory.metrics.snapshots(refresh=True)
    await memory.admin.erase("zenobia")
    kept = str(admin.execute("SELECT rows FROM traces.snapshots").fetchall()).lower()
    assert [word for word in ("zenobia", "bees", "apollo", "apiary") if word in kept] == []


async def test_taking_a_snapshot_does_not_block_readers(
    memory: AsyncMemory, connect_as: ConnectAs, tenant_a: Tenant
) -> None:
    await memory.metrics.snapshots(refresh=True)
    taking = connect_as(tenant_a)
    taking.execute("UPDATE traces.snapshots SET taken_at = now()")
    async with asyncio.timeout(60):
        assert len(await memory.metrics.snapshots()) == len(SNAPSHOT_NAMES)
        await memory.retain("Alice plays the cello.")
