"""What was recalled is counted: in this process first, written later, and lost by no normal end."""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from mnemic.db.access import Access
from mnemic.db.database import Database
from mnemic.errors import MnemicError
from mnemic.sdk import recalled_counts
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection, open_database
from tests.opened import opened
from tests.waiting import wait_for

COUNTS = "SELECT retrieval_count, last_retrieved_at, version FROM state.memories WHERE memory_id = %s"


def counted(admin: AppConnection, memory_id: UUID) -> tuple[int, datetime | None, int]:
    row = admin.execute(COUNTS, [memory_id]).fetchone()
    assert row is not None
    return row  # type: ignore[return-value]


async def retained(memory: AsyncMemory, *texts: str) -> Sequence[UUID]:
    return (await memory.retain(texts)).memory_ids


@pytest.fixture
async def memory(database: Database) -> AsyncMemory:
    """Alice's memory in a database of the test's own."""
    return opened(database, await database.open_tenant(f"tenant {uuid4()}"), embedder="test")


async def test_counts_are_written_on_close_and_not_by_the_call(
    memory: AsyncMemory, admin: AppConnection
) -> None:
    lighthouse, other = await retained(memory, "the lighthouse is white", "dinner at eight")
    before = datetime.now(UTC)
    for _ in range(3):
        await memory.recall("lighthouse", limit=1)
    after = datetime.now(UTC)
    assert counted(admin, lighthouse) == (0, None, 1)
    await memory.aclose()
    count, last_at, version = counted(admin, lighthouse)
    assert (count, version) == (3, 1), "no version: recalling changes nothing that a version holds"
    assert last_at is not None
    assert before <= last_at <= after
    assert counted(admin, other) == (0, None, 1)


async def test_counts_of_several_memories_add_up(access: Access, admin: AppConnection) -> None:
    ids: Sequence[UUID] = ()
    for _ in range(2):
        async with open_database(access) as database:
            memory = opened(database, await database.open_tenant("one"), embedder="test")
            ids = ids or await retained(memory, "the lighthouse is white")
            await memory.recall("lighthouse")
            await memory.scope(channel="work").recall("lighthouse")
            await memory.aclose()
    assert counted(admin, ids[0])[0] == 4


async def test_the_moment_of_the_last_recall_never_goes_back(
    memory: AsyncMemory, admin: AppConnection
) -> None:
    (lighthouse,) = await retained(memory, "the lighthouse is white")
    await memory.recall("lighthouse")
    later = datetime(2100, 1, 1, tzinfo=UTC)
    admin.execute("UPDATE state.memories SET last_retrieved_at = %s", [later])
    await memory._core.write_recalled_counts()
    assert counted(admin, lighthouse)[:2] == (1, later)


async def test_a_refusal_counts_nothing(memory: AsyncMemory) -> None:
    await retained(memory, "the lighthouse is white")
    assert (await memory.recall("quantum chromodynamics")).refused
    assert await memory._core.write_recalled_counts() == 0


async def test_a_memory_that_was_erased_does_no_harm(memory: AsyncMemory, admin: AppConnection) -> None:
    (lighthouse,) = await retained(memory, "the lighthouse is white")
    await memory.retain("the lighthouse is tall", owner="bob")
    await memory.recall("lighthouse")
    await memory.recall("lighthouse", owner="bob")
    await memory.admin.erase("bob")
    await memory.aclose()
    assert counted(admin, lighthouse)[0] == 1


async def test_what_could_not_be_written_is_written_later(memory: AsyncMemory, admin: AppConnection) -> None:
    (lighthouse,) = await retained(memory, "the lighthouse is white")
    await memory.recall("lighthouse")
    admin.execute("REVOKE UPDATE (retrieval_count) ON state.memories FROM mnemic_app")
    with pytest.raises(MnemicError):
        await memory._core.write_recalled_counts()
    await memory.recall("lighthouse")
    admin.execute("GRANT UPDATE (retrieval_count) ON state.memories TO mnemic_app")
    assert await memory._core.write_recalled_counts() == 1
    assert counted(admin, lighthouse)[0] == 2
    assert await memory._core.write_recalled_counts() == 0


async def test_closing_ends_well_when_the_counts_cannot_be_written(
    memory: AsyncMemory, admin: AppConnection, caplog: pytest.LogCaptureFixture
) -> None:
    (lighthouse,) = await retained(memory, "the lighthouse is white")
    await memory.recall("lighthouse")
    admin.execute("REVOKE UPDATE (retrieval_count) ON state.memories FROM mnemic_app")
    with caplog.at_level(logging.WARNING, logger="mnemic"):
        await memory.aclose()
    assert counted(admin, lighthouse)[0] == 0
    assert caplog.records


async def test_enough_counts_are_written_while_the_memory_is_open(
    memory: AsyncMemory, admin: AppConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalled_counts, "WRITE_COUNT", 2)
    lighthouse, harbour = await retained(memory, "the lighthouse is white", "the harbour is full")
    await memory.recall("lighthouse", techniques=["text"])
    assert counted(admin, lighthouse)[0] == 0
    await memory.recall("harbour", techniques=["text"])
    await wait_for(lambda: counted(admin, harbour)[0] == 1, what="the counts to be written")
    assert counted(admin, lighthouse)[0] == 1
    await memory.aclose()
    assert counted(admin, lighthouse)[0] == 1, "nothing is written twice"


async def test_a_memory_shared_by_a_grant_is_counted_with_its_owner(
    memory: AsyncMemory, admin: AppConnection
) -> None:
    await memory.shares.grant("alice", owner="bob")
    (lighthouse,) = (await memory.retain("the lighthouse is white", owner="bob")).memory_ids
    assert len(await memory.recall("lighthouse")) == 1
    await memory.aclose()
    assert counted(admin, lighthouse)[0] == 1
