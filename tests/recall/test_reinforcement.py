"""Recall counts: counted in the process, written later, and not lost when a process ends normally."""

import asyncio
import logging
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid4

import psycopg
import pytest

from mnemic.db.access import Access
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.errors import MnemicError
from mnemic.runtime import recall_counts as recall_counts
from mnemic.runtime.recall_counts import RecallCounts
from mnemic.sdk.memory import AsyncMemory
from mnemic.sql import query
from tests.accepted_grants import accepted_grant
from tests.conftest import AppConnection, ConnectAs, open_database
from tests.opened import core_of, opened
from tests.waiting import wait_for

COUNTS = "SELECT retrieval_count, last_retrieved_at, version FROM state.memory_records WHERE memory_id = %s"


WRITERS = 8
# A session that waits for a lock that another one holds.
WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)
MANY = """
    WITH many AS (
        INSERT INTO state.memories (tenant_id, owner, channel, process, content, category, source)
        SELECT %s, 'alice', '_global', 'test', 'memory ' || number, 'factual', 'imported'
        FROM generate_series(1, 5000) AS number
        RETURNING tenant_id, memory_id
    )
    INSERT INTO state.recall_counts SELECT tenant_id, memory_id, 1, now() FROM many
"""


def counted(admin: AppConnection, memory_id: UUID) -> tuple[int, datetime | None, int]:
    row = admin.execute(COUNTS, [memory_id]).fetchone()
    assert row is not None
    return row  # type: ignore[return-value]


async def retained(memory: AsyncMemory, *texts: str) -> Sequence[UUID]:
    return (await memory.retain(texts)).memory_ids


async def recall_and_write(memory: AsyncMemory, **options: str) -> None:
    assert await memory.recall("lighthouse", **options)  # type: ignore[arg-type]
    await core_of(memory).write_recalled_counts()


@pytest.fixture
def tenant_database(database: Database, memory: AsyncMemory) -> TenantDatabase:
    return TenantDatabase(database, memory.tenant)


@pytest.fixture
async def memory(database: Database) -> AsyncMemory:
    """Alice's memory in a separate database."""
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
    admin.execute(
        "INSERT INTO state.recall_counts SELECT tenant_id, memory_id, 0, %s FROM state.memories", [later]
    )
    await core_of(memory).write_recalled_counts()
    assert counted(admin, lighthouse)[:2] == (1, later)


async def test_a_change_keeps_the_count_and_an_earlier_version_what_it_was_then(memory: AsyncMemory) -> None:
    (lighthouse,) = await retained(memory, "the lighthouse is white")
    await recall_and_write(memory)
    await memory.memories.update(lighthouse, content="the lighthouse is red")
    await recall_and_write(memory)
    await memory.memories.forget(lighthouse)
    await memory.memories.restore(lighthouse)
    await recall_and_write(memory)
    reverted = await memory.memories.revert(lighthouse, 1)
    assert (reverted.content, reverted.retrieval_count) == ("the lighthouse is white", 3)
    assert await memory.memories.get(lighthouse) == reverted
    history = await memory.memories.history(lighthouse)
    assert [record.retrieval_count for record in history] == [1, 2, 2, 3, 3]
    last_ats = [record.last_retrieved_at for record in history]
    assert last_ats == sorted(last_ats, key=str)
    assert len(set(last_ats)) == 3


async def test_many_writers_of_the_same_memories_lose_no_count(
    memory: AsyncMemory, admin: AppConnection, tenant_database: TenantDatabase
) -> None:
    """Memories without a count so far, and memories with one."""
    ids = await retained(memory, *(f"memory number {number}" for number in range(100)))
    for round_number in (1, 2):
        writers = [RecallCounts() for _ in range(WRITERS)]
        for number, writer in enumerate(writers):
            writer.count(ids if number % 2 else reversed(ids))
        await asyncio.gather(*(writer.write(tenant_database) for writer in writers))
        assert {counted(admin, memory_id)[0] for memory_id in ids} == {round_number * WRITERS}


@pytest.mark.parametrize("times_before", [0, 1])
async def test_a_memory_that_is_erased_while_it_is_counted_keeps_no_other_from_it(
    memory: AsyncMemory,
    admin: AppConnection,
    admin_conninfo: str,
    times_before: int,
    tenant_database: TenantDatabase,
) -> None:
    lighthouse, harbour = await retained(memory, "the lighthouse is white", "the harbour is full")
    counts = RecallCounts()
    for _ in range(times_before):
        counts.count([harbour])
        await counts.write(tenant_database)
    counts.count([lighthouse, harbour])
    with psycopg.connect(admin_conninfo) as erasing:
        erasing.execute("DELETE FROM state.memories WHERE memory_id = %s", [harbour])
        writing = asyncio.create_task(counts.write(tenant_database))
        await wait_for(
            lambda: admin.execute(WAITING).fetchone() == (1,), what="the write to meet the erasure"
        )
    assert await writing == 2
    assert counted(admin, lighthouse)[0] == 1
    assert admin.execute("SELECT count(*) FROM state.recall_counts").fetchone() == (1,)


async def test_a_recall_that_is_not_recorded_counts_nothing(memory: AsyncMemory) -> None:
    await retained(memory, "the lighthouse is white")
    assert await memory.recall("lighthouse", record=False)
    assert await core_of(memory).write_recalled_counts() == 0


async def test_a_refusal_counts_nothing(memory: AsyncMemory) -> None:
    await retained(memory, "the lighthouse is white")
    assert (await memory.recall("quantum chromodynamics")).refused
    assert await core_of(memory).write_recalled_counts() == 0


async def test_a_memory_that_was_erased_does_no_harm(memory: AsyncMemory, admin: AppConnection) -> None:
    (lighthouse,) = await retained(memory, "the lighthouse is white")
    await memory.retain("the lighthouse is tall", owner="bob")
    await memory.recall("lighthouse")
    await memory.recall("lighthouse", owner="bob")
    await memory.admin.erase("bob")
    await memory.aclose()
    assert counted(admin, lighthouse)[0] == 1


async def test_counts_are_erased_with_their_owner(memory: AsyncMemory, admin: AppConnection) -> None:
    (lighthouse,) = await retained(memory, "the lighthouse is white")
    await memory.retain("the lighthouse is tall", owner="bob")
    await recall_and_write(memory)
    await recall_and_write(memory, owner="bob")
    receipt = await memory.admin.erase("bob")
    assert receipt.rows["state.recall_counts"] == 1
    left = admin.execute("SELECT memory_id FROM state.recall_counts").fetchall()
    assert left == [(lighthouse,)]


async def test_nobody_counts_for_another_owner_or_another_tenant(
    memory: AsyncMemory, admin: AppConnection, connect_as: ConnectAs, tenant_b: Tenant
) -> None:
    (lighthouse,) = await retained(memory, "the lighthouse is white")
    await recall_and_write(memory)
    await memory.retain("bob has seen no lighthouse", owner="bob")
    await recall_and_write(memory, owner="bob")
    before = counted(admin, lighthouse)
    assert before[0] == 1
    counts = RecallCounts()
    counts.count([lighthouse])
    await counts.write(TenantDatabase(core_of(memory).storage.database, tenant_b))
    other = connect_as(tenant_b)
    assert other.execute("SELECT FROM state.recall_counts").rowcount == 0
    assert other.execute("UPDATE state.recall_counts SET retrieval_count = 7").rowcount == 0
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        other.execute(
            "INSERT INTO state.recall_counts VALUES (%s, %s, 7, now())", [memory.tenant.id, lighthouse]
        )
    assert counted(admin, lighthouse) == before


@pytest.mark.parametrize(
    "name", ["recall.reinforce", "memory_lists.list", "memories.history", "conversations.turns"]
)
async def test_counts_are_looked_up_by_key(
    memory: AsyncMemory, admin: AppConnection, connect_as: ConnectAs, name: str
) -> None:
    """Any number of them, and although the server has not noticed it yet."""
    admin.execute(MANY, [memory.tenant.id])
    connection = connect_as(memory.tenant)
    connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    asked = query(name)
    names = dict.fromkeys(re.findall(r"%\((\w+)\)s", asked))
    numbered = asked % {name: f"${number}" for number, name in enumerate(names, start=1)}
    connection.execute(f"PREPARE asked AS {numbered}".encode())
    nulls = ", ".join(["NULL"] * len(names))
    plan = "\n".join(str(line) for (line,) in connection.execute(f"EXPLAIN EXECUTE asked ({nulls})".encode()))
    by_key = "memories_pkey" if name == "recall.reinforce" else "recall_counts_pkey"
    assert by_key in plan, plan
    assert "Seq Scan" not in plan, plan


async def test_a_recall_looks_counts_up_by_key(
    memory: AsyncMemory, admin: AppConnection, connect_as: ConnectAs
) -> None:
    admin.execute(MANY, [memory.tenant.id])
    admin.execute("GRANT EXECUTE ON FUNCTION pg_stat_get_xact_numscans TO mnemic_app")
    connection = connect_as(memory.tenant)
    (one,) = connection.execute("SELECT memory_id FROM state.recall_counts LIMIT 1").fetchone() or (None,)
    scans = (
        "SELECT pg_stat_get_xact_numscans('state.recall_counts'::regclass),"
        " pg_stat_get_xact_numscans('state.recall_counts_pkey'::regclass)"
    )
    assert connection.execute(scans).fetchall() == [(0, 1)], "how the one was found"
    parameters = {"tenant_id": memory.tenant.id, "signature": None, "ids": [one]}
    assert connection.execute(query("recall.records"), parameters).rowcount == 1
    assert connection.execute(scans).fetchall() == [(0, 2)]


async def test_what_could_not_be_written_is_written_later(memory: AsyncMemory, admin: AppConnection) -> None:
    (lighthouse,) = await retained(memory, "the lighthouse is white")
    await memory.recall("lighthouse")
    admin.execute("REVOKE UPDATE (retrieval_count) ON state.recall_counts FROM mnemic_app")
    with pytest.raises(MnemicError):
        await core_of(memory).write_recalled_counts()
    await memory.recall("lighthouse")
    admin.execute("GRANT UPDATE (retrieval_count) ON state.recall_counts TO mnemic_app")
    assert await core_of(memory).write_recalled_counts() == 1
    assert counted(admin, lighthouse)[0] == 2
    assert await core_of(memory).write_recalled_counts() == 0


async def test_closing_ends_well_when_the_counts_cannot_be_written(
    memory: AsyncMemory, admin: AppConnection, caplog: pytest.LogCaptureFixture
) -> None:
    (lighthouse,) = await retained(memory, "the lighthouse is white")
    await memory.recall("lighthouse")
    admin.execute("REVOKE UPDATE (retrieval_count) ON state.recall_counts FROM mnemic_app")
    with caplog.at_level(logging.WARNING, logger="mnemic"):
        await memory.aclose()
    assert counted(admin, lighthouse)[0] == 0
    assert caplog.records


async def test_enough_counts_are_written_while_the_memory_is_open(
    memory: AsyncMemory, admin: AppConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_counts, "WRITE_COUNT", 2)
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
    await accepted_grant(memory, "alice", owner="bob")
    (lighthouse,) = (await memory.retain("the lighthouse is white", owner="bob")).memory_ids
    assert len(await memory.recall("lighthouse")) == 1
    await memory.aclose()
    assert counted(admin, lighthouse)[0] == 1
