"""What proved useful in a session becomes a memory, once, and the next session starts with it."""

import pytest

from mnemic.context.closing import close_idle
from mnemic.sdk.memory import AsyncMemory
from tests.opened import core_of

DEPLOYING = "\n".join(
    [
        *(f"step {number}: nothing special happens on machine_{number}" for number in range(100)),
        "the deployment password rotation runs on machine zanzibar at 04:00 UTC",
        *(f"step {number}: nothing special happens on machine_{number}" for number in range(100, 200)),
    ]
)


async def test_the_next_session_recalls_what_the_last_one_needed(memory: AsyncMemory) -> None:
    context = memory.context("monday")
    await context.admit(DEPLOYING, tool="read", key="docs/deploying.md", type="prose")
    await context.admit(f"{DEPLOYING}\nof no use", tool="read", key="docs/other.md", type="prose")
    await context.query(
        "on which machine does the deployment password rotation run?", object="docs/deploying.md"
    )
    closed = await context.close()
    assert closed.session.closed_at is not None
    (memory_id,) = closed.memory_ids
    opening = await memory.recall("On which machine does the password rotation of the deployment run?")
    assert opening.hits[0].memory.memory_id == memory_id
    learned = opening.hits[0].memory
    assert "zanzibar" in learned.content
    assert learned.content.startswith("docs/deploying.md (prose). It was needed again")
    assert len(learned.content) <= 2_000
    assert learned.metadata["context_session"] == "monday"
    assert learned.metadata["context_object"] == "docs/deploying.md#1"
    assert (learned.source, learned.provenance) == ("inferred", "witnessed")
    assert learned.confidence == pytest.approx(0.7)
    assert (await memory.memories.why(memory_id)) is not None


async def test_nothing_is_learned_twice_and_it_can_be_undone(memory: AsyncMemory) -> None:
    context = memory.context("s")
    await context.admit(DEPLOYING, tool="read", key="a.md", pinned=True)
    (memory_id,) = (await context.close()).memory_ids
    assert (await context.close()).memory_ids == ()
    # Neither in another session, nor after it was undone.
    other = memory.context("t")
    await other.admit(DEPLOYING, tool="read", key="a.md", pinned=True)
    assert (await other.close()).memory_ids == ()
    (changeset,) = await memory.curation.list()
    assert (changeset.purpose, changeset.state) == ("consolidation", "applied")
    await memory.curation.undo(changeset.changeset_id)
    assert (await memory.memories.get(memory_id)).deleted_at is not None
    assert (await context.close()).memory_ids == ()


async def test_recalled_text_errors_and_superseded_copies_are_not_learned(memory: AsyncMemory) -> None:
    context = memory.context("s")
    await context.admit(f"1 {DEPLOYING}", tool="recall", key="1", pinned=True)
    await context.admit(f"2 {DEPLOYING}", tool="mcp__mnemic__recall", key="2", pinned=True)
    await context.admit(f"3 {DEPLOYING}", key="3", pinned=True, is_recalled=True)
    await context.admit(f"4 {DEPLOYING}", key="4", pinned=True, is_error=True)
    await context.admit(f"5 {DEPLOYING}", tool="read", key="5.md", pinned=True, type="prose")
    await context.admit(f"6 {DEPLOYING}", tool="read", key="5.md", pinned=True, type="prose")
    await context.admit(f"7 {DEPLOYING}", tool="read", key="7.md", type="prose")
    ids = (await context.close()).memory_ids
    learned = [(await memory.memories.get(each)).metadata["context_object"] for each in ids]
    assert learned == ["5.md#6"]


async def test_idle_sessions_are_closed_by_a_job(memory: AsyncMemory) -> None:
    context = memory.context("s")
    await context.admit(DEPLOYING, tool="read", key="a.md", pinned=True)
    core = core_of(memory)
    assert await close_idle(core) == {"closed_count": 0, "memory_count": 0}
    assert await close_idle(core, idle_s=0) == {"closed_count": 1, "memory_count": 1}
    assert await close_idle(core, idle_s=0) == {"closed_count": 0, "memory_count": 0}
    assert (await context.summary()).closed_at is not None
