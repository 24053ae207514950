"""Near duplicates are found after the memories are stored, and none is missed."""

from collections.abc import Sequence
from uuid import UUID, uuid4

import numpy as np
import pytest

from mnemic.db.database import Transaction
from mnemic.errors import DatabaseUnavailableError
from mnemic.jobs.handlers import RunningJob
from mnemic.maintenance import jobs as maintenance
from mnemic.models.engine import FloatArray, InputType
from mnemic.models.testing import HashedWords
from mnemic.record import near_duplicates
from mnemic.record.near_duplicates import compare_pending
from mnemic.retain.pipeline import retain_items
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.retained import Retained
from tests.fresh_tenants import OpenMemory, Rows
from tests.opened import core_of

pytestmark = pytest.mark.usefixtures("no_comparisons")


class Angles(HashedWords):
    """Embeds a number as the direction of that many degrees; 18 of them are a cosine of 0.951."""

    name = f"test:angles-{uuid4()}"

    def __init__(self, *, failing: bool = False) -> None:
        super().__init__(2, failing=failing)

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> FloatArray:
        await super().embed(texts, input_type=input_type)
        angles = np.radians([float(text) for text in texts], dtype=np.float32)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


Pairs = set[tuple[str, str]]


async def listed(memory: AsyncMemory) -> Pairs:
    """The contents of the pairs that await a decision, after pending memories are compared."""
    said = {record.memory_id: record.content for record in await memory.memories.list(limit=1000)}
    return {
        (said[pair.memory_id], said[pair.like_id])
        for pair in await memory.memories.near_duplicates(limit=1000)
    }


def waiting_count(rows: Rows, memory: AsyncMemory) -> int:
    return rows.counts(memory.tenant.id).get("queue.deduplication_backlog", 0)


@pytest.mark.parametrize(
    ("older", "given", "pairs"),
    [
        (["0", "90"], ["5"], {("5", "0")}),
        (["0", "10"], ["6"], {("10", "0"), ("6", "10")}),
        (["0", "90"], ["30"], set()),
        (["0"], ["10", "15"], {("10", "0"), ("15", "10")}),
        (["0"], ["5", "-12"], {("5", "0"), ("-12", "0")}),
        (["0"], ["10", "15", "-3"], {("10", "0"), ("15", "10"), ("-3", "0")}),
    ],
)
@pytest.mark.parametrize("is_asked_in_between", [False, True])
async def test_each_memory_is_linked_to_its_most_similar_older_one_in_any_order_of_comparison(
    open_memory: OpenMemory, older: list[str], given: list[str], pairs: Pairs, is_asked_in_between: bool
) -> None:
    memory = await open_memory(embedder=Angles())
    for content in older:
        await memory.retain(content)
    if is_asked_in_between:
        await listed(memory)
    await memory.retain(given)
    assert await listed(memory) == pairs


async def test_storing_compares_nothing_and_listing_compares_pending_memories(
    open_memory: OpenMemory, rows: Rows
) -> None:
    memory = await open_memory(embedder=Angles())
    await memory.retain("0")
    await memory.retain("1")
    assert waiting_count(rows, memory) == 2
    assert "state.near_duplicates" not in rows.counts(memory.tenant.id)
    assert (await memory.admin.stats()).pending_near_duplicate_count == 1
    assert waiting_count(rows, memory) == 0


async def test_memories_stored_in_bulk_are_compared(
    open_memory: OpenMemory, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near_duplicates, "BATCH_ROWS", 7)
    memory = await open_memory(embedder=Angles())
    # Every 20 degrees is far enough apart; the last one comes around to the first.
    around = [str(angle) for angle in range(0, 361, 20)]
    await memory.retain_many(around + [f"{360 * turn}.5" for turn in range(40)])
    pairs = await listed(memory)
    assert ("360", "0") in pairs
    assert len(pairs) == 41
    assert waiting_count(rows, memory) == 0


async def test_listing_compares_only_the_memories_of_its_owner(open_memory: OpenMemory, rows: Rows) -> None:
    memory = await open_memory(embedder=Angles())
    await memory.retain("0", owner="bob")
    await memory.retain("1")
    await memory.retain("2", owner="bob")
    assert await listed(memory) == set()
    assert waiting_count(rows, memory) == 2
    assert len(await memory.memories.near_duplicates(owner="bob")) == 1


async def test_a_memory_committed_late_is_compared_with_those_compared_before(
    open_memory: OpenMemory, rows: Rows
) -> None:
    memory = await open_memory(embedder=Angles())
    await memory.retain("90")

    async def meanwhile(transaction: Transaction, retained: Retained) -> None:
        await memory.retain("1")
        assert await listed(memory) == set()
        await memory.retain("2")

    caller = memory._caller
    await retain_items(caller, ["0"], {}, and_then=meanwhile)
    # "1" was compared before "0" could be seen, "2" was not compared yet: its own turn comes.
    assert await listed(memory) == {("1", "0"), ("2", "1")}
    assert waiting_count(rows, memory) == 0


async def test_killing_a_comparison_loses_nothing(open_memory: OpenMemory, rows: Rows) -> None:
    memory = await open_memory(embedder=Angles())
    await memory.retain(["0", "1"])
    database = core_of(memory).storage.tenant_database

    async def killed(transaction: Transaction) -> None:
        assert await near_duplicates._compare_batch(transaction, "alice") == 2
        rows.value("SELECT pg_terminate_backend(%s)", transaction.connection.info.backend_pid)
        await transaction.execute("near_duplicates.next_owner")

    with pytest.raises(DatabaseUnavailableError):
        await database.run(killed)
    assert waiting_count(rows, memory) == 2
    assert await listed(memory) == {("1", "0")}


async def test_memories_embedded_later_are_compared_then(open_memory: OpenMemory, rows: Rows) -> None:
    engine = Angles(failing=True)
    memory = await open_memory(embedder=engine)
    await memory.retain(["0", "1"])
    assert await listed(memory) == set()
    engine.failing = False
    await memory.admin.embed_backlog()
    assert waiting_count(rows, memory) == 2
    assert await listed(memory) == {("1", "0")}


async def test_the_daily_job_compares_all_pending_memories(
    open_memory: OpenMemory, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near_duplicates, "BATCH_ROWS", 2)
    memory = await open_memory(embedder=Angles())
    for owner in ("ann", "bob", "eve"):
        await memory.retain(["0", "1", "90"], owner=owner)
    job = RunningJob(uuid4(), "maintenance.cleanup", {}, None, 1, memory.tenant)
    done = await maintenance.clean_up(core_of(memory), job)
    assert isinstance(done, dict)
    assert done["compared_count"] == 9
    counts = rows.counts(memory.tenant.id)
    assert (counts["state.near_duplicates"], waiting_count(rows, memory)) == (3, 0)


async def test_listing_compares_a_bounded_number(
    open_memory: OpenMemory, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near_duplicates, "BATCH_ROWS", 5)
    memory = await open_memory(embedder=Angles())
    await memory.retain_many([str(angle) for angle in range(40)])
    assert await compare_pending(core_of(memory).storage.tenant_database, max_rows=10) == 10
    assert waiting_count(rows, memory) == 30


async def test_erased_memories_leave_the_backlog(open_memory: OpenMemory, rows: Rows) -> None:
    memory = await open_memory(embedder=Angles())
    kept: UUID = (await memory.retain("0")).memory_ids[0]
    (gone,) = (await memory.retain("1")).memory_ids
    rows.select("DELETE FROM state.memories WHERE memory_id = %s RETURNING memory_id", gone)
    assert await listed(memory) == set()
    assert waiting_count(rows, memory) == 0
    assert (await memory.memories.get(kept)).content == "0"


async def test_erasing_an_owner_clears_its_backlog(open_memory: OpenMemory, rows: Rows) -> None:
    memory = await open_memory(embedder=Angles())
    await memory.retain(["0", "1"])
    receipt = await memory.admin.erase("alice")
    assert receipt.rows["queue.deduplication_backlog"] == 2
    assert waiting_count(rows, memory) == 0
