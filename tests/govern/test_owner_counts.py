"""Counts of owners: those of small ones are current, a job counts large ones, and erased ones are gone."""

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from mnemic.db.database import TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.govern.owner_counts import SMALL_MAX_MEMORIES
from mnemic.sdk.memory import AsyncMemory
from mnemic.sql import query
from mnemic.types.owner_counts import OwnerCounts
from tests.conftest import AppConnection, ConnectAs

FILL = """
    INSERT INTO state.memories (tenant_id, owner, channel, process, content, category, source)
    SELECT %s, %s, '_global', 'test', 'memory ' || number, 'factual', 'imported'
    FROM generate_series(1, %s) AS number
"""
MANY_OWNERS = """
    INSERT INTO traces.owner_counts (
        tenant_id, owner, last_activity_at, memory_count, changed_position, counted_position, counted_at
    )
    SELECT %s, 'owner ' || number, now() - number * interval '1 second', number, 1, 1, now()
    FROM generate_series(1, 20000) AS number
"""


async def one(memory: AsyncMemory, owner: str) -> OwnerCounts:
    (found,) = [each for each in await memory.admin.owner_counts(prefix=owner) if each.owner == owner]
    return found


async def test_what_an_owner_holds_is_counted(memory: AsyncMemory) -> None:
    first, _ = (await memory.retain(["Tea", "Ünïcode"], owner="bob", conversation="c")).memory_ids
    await memory.retain("Coffee", owner="bob")
    await memory.entities.upsert("person", "Carol", owner="bob")
    await memory.documents.put("guide.md", "# Guide\n\nTea is green.", owner="bob")
    await memory.memories.forget(first, owner="bob")
    found = await one(memory, "bob")
    held = await memory.memories.list(owner="bob", statuses=None)
    assert found.memory_count == found.active_memory_count + 1
    assert (found.conversation_count, found.entity_count, found.document_count) == (1, 1, 1)
    texts = ["Tea", *(record.content for record in held if record.memory_id != first)]
    assert found.text_bytes == sum(len(text.encode()) for text in texts)
    (event,) = await memory.events.list(order="newest", limit=1, owner="bob")
    assert found.last_activity_at == event.at
    assert found.is_current
    assert found.counted_at is not None
    assert found.counted_at >= event.at


async def test_a_large_owner_is_counted_by_the_job_only(
    memory: AsyncMemory, admin: AppConnection, tenant_a: Tenant
) -> None:
    admin.execute(FILL, [tenant_a.id, "large", SMALL_MAX_MEMORIES + 1])
    admin.execute(FILL, [tenant_a.id, "small", 3])
    assert (await one(memory, "small")).memory_count == 3
    assert (await one(memory, "large")).counted_at is None
    assert (await memory.admin.stats(exact=False)).memory_count == 3
    assert await memory.admin.count_owners() == 1
    assert (await one(memory, "large")).memory_count == SMALL_MAX_MEMORIES + 1
    assert await memory.admin.count_owners() == 0
    await memory.retain("One more", owner="large")
    stale = await one(memory, "large")
    assert (stale.is_current, stale.memory_count) == (False, SMALL_MAX_MEMORIES + 1)
    assert stale.counted_at is not None
    assert stale.last_activity_at > stale.counted_at
    kept = await memory.admin.stats(exact=False)
    assert (kept.memory_count, kept.counted_at) == (SMALL_MAX_MEMORIES + 4, stale.counted_at)
    assert (await memory.admin.stats()).memory_count == SMALL_MAX_MEMORIES + 5


async def test_kept_statistics_equal_exact_ones(memory: AsyncMemory) -> None:
    for owner in ("bob", "carol"):
        (memory_id,) = (await memory.retain("Tea", owner=owner, conversation="c")).memory_ids
        await memory.memories.update(memory_id, content="Green tea", owner=owner)
        await memory.entities.upsert("person", "Dave", owner=owner)
    exact, kept = await memory.admin.stats(), await memory.admin.stats(exact=False)
    assert {**as_counts(exact)} == {**as_counts(kept)}
    assert kept.earlier_version_count == 2


def as_counts(stats: Any) -> dict[str, int]:
    return {name: getattr(stats, name) for name in stats.__slots__ if name.endswith("_count")}


async def test_owners_are_searched_ordered_and_paged(memory: AsyncMemory) -> None:
    for number, owner in enumerate(("bob", "Bob", "bobby", "b%", "Żaneta", "b")):
        await memory.retain([f"memory {count}" for count in range(number + 1)], owner=owner)

    async def names(**options: Any) -> list[str]:
        return [each.owner for each in await memory.admin.owner_counts(**options)]

    assert await names() == ["Bob", "b", "b%", "bob", "bobby", "Żaneta"]
    assert await names(prefix="bo") == ["bob", "bobby"]
    assert await names(prefix="b%") == ["b%"]
    assert await names(prefix="Ż") == ["Żaneta"]
    assert await names(prefix="nobody") == []
    assert await names(after="b", limit=2) == ["b%", "bob"]
    assert await names(order="memories") == ["b", "Żaneta", "b%", "bobby", "Bob", "bob"]
    assert await names(order="memories", after="b%", limit=2) == ["bobby", "Bob"]
    assert await names(order="memories", prefix="bo") == ["bobby", "bob"]
    assert await names(order="activity", limit=3) == ["b", "Żaneta", "b%"]
    assert await names(order="activity", after="Żaneta", limit=1) == ["b%"]


async def test_bad_input_is_refused(memory: AsyncMemory) -> None:
    with pytest.raises(InvalidInputError, match="order"):
        await memory.admin.owner_counts(order="size")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="prefix"):
        await memory.admin.owner_counts(prefix="a" * 300)
    with pytest.raises(NotFoundError, match="nobody"):
        await memory.admin.owner_counts(order="memories", after="nobody")


async def test_an_erased_owner_is_in_no_list(memory: AsyncMemory, foreign_memory: AsyncMemory) -> None:
    await memory.retain("Tea", owner="bob")
    await foreign_memory.retain("Tea", owner="bob")
    assert (await one(memory, "bob")).memory_count == 1
    receipt = await memory.admin.erase("bob")
    assert receipt.rows["traces.owner_counts"] == 1
    assert await memory.admin.owner_counts(prefix="bob") == []
    assert (await one(foreign_memory, "bob")).memory_count == 1


async def test_a_count_that_an_erasure_overtakes_stores_nothing(
    memory: AsyncMemory, place_a: TenantDatabase
) -> None:
    await memory.retain("Tea", owner="bob")
    await memory.admin.erase("bob")
    async with place_a.transaction() as transaction:
        row = {"owner": "bob", "changed_position": 1, "memory_count": 1}
        saved = await transaction.execute("owner_counts.save", {"owners": ["bob"], "counts": Jsonb([row])})
    assert saved == 0
    assert await memory.admin.owner_counts() == []


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("owner_counts.by_name", "owner_counts_pkey"),
        ("owner_counts.by_memories", "owner_counts_memories"),
        ("owner_counts.by_activity", "owner_counts_activity"),
        ("owner_counts.cursor", "owner_counts_pkey"),
        ("owner_counts.changed", "owner_counts_changed"),
    ],
)
async def test_lists_of_owners_go_by_an_index(
    connect_as: ConnectAs, tenant_a: Tenant, tenant_b: Tenant, admin: AppConnection, name: str, index: str
) -> None:
    for tenant in (tenant_a, tenant_b):
        admin.execute(MANY_OWNERS, [tenant.id])
    admin.execute("ANALYZE traces.owner_counts")
    parameters = {
        "tenant_id": tenant_a.id,
        "prefix": "owner 1" if name == "owner_counts.by_name" else "",
        "after": "owner 10",
        "after_count": 10,
        "after_at": "2026-01-01T00:00:00Z",
        "limit": 50,
    }
    plan = connect_as(tenant_a).execute(f"EXPLAIN {query(name)}".encode(), parameters).fetchall()
    text = "\n".join(str(line) for (line,) in plan)
    assert index in text, text
    assert "Seq Scan" not in text, text
    assert "Sort" not in text, text
