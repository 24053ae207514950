"""Erasing an owner leaves nothing that was learnt; an export carries it to another tenant."""

from pathlib import Path

from mnemic.sdk.memory import AsyncMemory
from mnemic.types.consolidated import Consolidated
from tests.fresh_tenants import OpenMemory, Rows

LEARNT = (
    "statements",
    "statement_sources",
    "extraction_runs",
    "rejected_statements",
    "consolidated_conversations",
    "changesets",
    "memory_changes",
    "triples",
    "entities",
)


async def learn(memory: AsyncMemory) -> None:
    turns = [
        "I live in Bath.",
        "I live in Oslo.",
        "I love tea.",
        *(f"I love dish {n} of the menu." for n in range(4)),
    ]
    await memory.retain([{"role": "user", "content": text} for text in turns], conversation="c")
    await memory.retain("Alice works at Acme.")
    assert (await memory.consolidate()).superseded_count == 1


async def test_erasing_an_owner_leaves_nothing_that_was_learnt(memory: AsyncMemory, rows: Rows) -> None:
    await learn(memory)
    receipt = await memory.admin.erase("alice")
    assert receipt.rows["state.statements"] == 8
    for table in (*LEARNT, "memories", "memory_relationships"):
        count = rows.select(f"SELECT count(*) FROM state.{table} WHERE tenant_id = %s", memory.tenant.id)
        assert count == [(0,)], table


async def test_an_export_carries_what_was_learnt(
    memory: AsyncMemory, open_memory: OpenMemory, tmp_path: Path
) -> None:
    await learn(memory)
    await memory.admin.export(tmp_path / "alice.jsonl")
    other = await open_memory()
    await other.admin.import_(tmp_path / "alice.jsonl")
    assert await other.statements.list(status=None) == await memory.statements.list(status=None)
    assert await other.consolidate() == Consolidated()
