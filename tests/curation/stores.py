"""Memories that the curator has something to say about."""

from uuid import UUID

from mnemic.db.database import TenantDatabase
from mnemic.record.changesets import MemoryChange, stage_and_apply
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.scope import Scope
from tests.fresh_tenants import Rows

LONG_AGO = "now() - interval '400 days'"


async def outdated_pair(memory: AsyncMemory, name: str = "Alice") -> tuple[UUID, UUID]:
    """An older memory and the newer one that outdates it."""
    older, newer = (
        await memory.retain([f"{name} lives in Berlin.", f"{name} has moved to Lisbon."])
    ).memory_ids
    await memory.memories.decide_outdated(older, newer, "outdated")
    return older, newer


async def duplicates(memory: AsyncMemory) -> tuple[UUID, UUID]:
    """Two memories that say the same; the second one is better proved."""
    weaker = await memory.retain("Alice drinks green tea every morning.", tags=["drinks"], evidence="a note")
    better = await memory.retain(
        "Every morning Alice drinks green tea.", provenance="measured", tags=["habits"]
    )
    return weaker.memory_ids[0], better.memory_ids[0]


async def weak(memory: AsyncMemory, rows: Rows, content: str = "Alice may like opera.") -> UUID:
    """An uncertain extracted memory that nobody has used for more than a year."""
    (memory_id,) = (await memory.retain(content, source="extracted", confidence=0.5)).memory_ids
    rows.run(f"UPDATE state.memories SET created_at = {LONG_AGO} WHERE memory_id = '{memory_id}'")
    return memory_id


async def quarantined(memory: AsyncMemory, database: TenantDatabase) -> UUID:
    """A memory that was said three times and then set aside for review."""
    for _ in range(3):
        (memory_id,) = (await memory.retain("Alice lives in Oslo.")).memory_ids
    change = MemoryChange(memory_id, "quarantine", {"status": "pending_review"}, "It awaits a review.")
    async with database.transaction() as transaction:
        await stage_and_apply(
            transaction, Scope("alice", "_global", "test"), [change], purpose="contradiction", reason="a test"
        )
    return memory_id
