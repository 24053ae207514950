"""A small call is one statement; if that does not suffice, it stores nothing and a transaction does it."""

from collections.abc import Callable, Mapping
from typing import Any

import psycopg
import pytest

from mnemic.db.connection import Row
from mnemic.db.database import Database, TenantDatabase, Transaction
from mnemic.db.tenancy import Tenant
from mnemic.errors import ConflictError
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.fresh_tenants import OpenMemory, Rows, contents, vector_of
from tests.opened import core_of, opened
from tests.unsteady_engine import Unsteady

# A comparison in the background is a transaction, and changes the backlog.
pytestmark = pytest.mark.usefixtures("no_comparisons")

LONG = "".join(f"Sentence {number} of a long text. " for number in range(1000))


@pytest.fixture
async def used(memory: AsyncMemory, transactions: list[object]) -> AsyncMemory:
    """A memory whose tenant has a serving model."""
    await memory.retain("The first words of all.")
    transactions.clear()
    return memory


@pytest.mark.parametrize(
    ("items", "fields"),
    [
        ("Alice likes tea.", {}),
        ([f"fact {number}" for number in range(32)], {}),
        (["one turn", "another turn"], {"conversation": "c"}),
        ([{"content": "a turn", "conversation": "c"}, "a fact"], {}),
        (
            "all fields",
            {"tags": ["a"], "metadata": {"b": 1}, "role": "user", "name": "Ann", "at": "2026-01-01T00:00Z"},
        ),
    ],
    ids=["a fact", "some facts", "turns", "a turn and a fact", "all fields"],
)
async def test_one_statement_stores_memories_vectors_log_row_and_events(
    used: AsyncMemory, transactions: list[object], rows: Rows, items: Any, fields: dict[str, Any]
) -> None:
    retained = await used.retain(items, **fields)
    assert transactions == []
    assert retained.stored_count == (len(items) if isinstance(items, list) else 1)
    assert all(vector_of(rows, memory_id) is not None for memory_id in retained.memory_ids)
    logged = (await used.log.list(limit=1))[0]
    assert (logged.operation, logged.memory_count) == ("retain", retained.stored_count)
    assert logged.conversation == fields.get("conversation")
    assert logged.duration_ms is not None
    assert logged.duration_ms > 0
    published = rows.value(
        "SELECT count(*) FROM queue.event_inbox WHERE subject = ANY (%s)",
        [str(each) for each in retained.memory_ids],
    )
    assert published == retained.stored_count


async def test_one_statement_stores_all_chunks_of_a_long_text(
    open_memory: OpenMemory, transactions: list[object], rows: Rows
) -> None:
    memory = await open_memory()
    await memory.retain("The first words of all.")
    transactions.clear()
    (stored,) = (await memory.retain(LONG, conversation="c")).stored
    # A text of this length is looked up before it is embedded.
    assert len(transactions) <= 1
    assert await memory.memories.whole(stored.memory_id) == LONG
    assert len(stored.chunk_ids) > 1
    assert all(vector_of(rows, chunk_id) is not None for chunk_id in stored.chunk_ids)


async def test_positions_of_turns_of_small_calls_have_no_gaps(
    used: AsyncMemory, transactions: list[object]
) -> None:
    await used.retain(["a", "b"], conversation="c")
    await used.retain({"content": "known", "external_id": "e"}, conversation="c")
    transactions.clear()
    # The lookup before embedding finds the known turn, or the statement does, after it has a position.
    await used.retain([{"content": "known", "external_id": "e"}, {"content": "d"}], conversation="c")
    await used.retain("e", conversation="c")
    turns = await used.conversations.turns("c")
    assert contents(turns) == ["a", "b", "known", "d", "e"]
    assert [turn.position for turn in turns] == [0, 1, 2, 3, 4]
    assert (await used.conversations.get("c")).turn_count == 5


async def duplicate(memory: AsyncMemory) -> None:
    await memory.retain("Alice likes tea.")


async def name(memory: AsyncMemory) -> None:
    await memory.entities.upsert("person", "Alice")


async def test_a_duplicate_is_looked_up_once(used: AsyncMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statement that conflicts with a memory says which one, so that the transaction need not ask."""
    (tea,) = (await used.retain("Alice likes tea.")).memory_ids
    lookups: list[str] = []
    read = Transaction.rows_unprepared

    async def record(self: Transaction, name: str, parameters: Mapping[str, Any]) -> list[Row]:
        lookups.append(name)
        return await read(self, name, parameters)

    monkeypatch.setattr(Transaction, "rows_unprepared", record)
    retained = await used.retain(["Alice likes milk.", "Alice likes tea.", "Alice likes water."])
    assert lookups == []
    assert [(item.index, item.duplicate_of) for item in retained.duplicates] == [(1, tea)]
    assert [item.index for item in retained.stored] == [0, 2]


async def test_a_forgotten_item_is_refused_with_its_date(used: AsyncMemory) -> None:
    item = {"content": "Alice likes tea.", "external_id": "e", "conversation": "c"}
    (tea,) = (await used.retain(item)).memory_ids
    await used.memories.forget(tea)
    retained = await used.retain([item, "Alice likes milk."])
    assert (retained.stored_count, retained.refused_count) == (1, 1)
    assert f"restore {tea}" in retained.refused[0].reason


@pytest.mark.parametrize("before", [duplicate, name])
async def test_a_call_that_needs_more_is_written_once_by_a_transaction(
    used: AsyncMemory, transactions: list[object], rows: Rows, before: Callable[[AsyncMemory], Any]
) -> None:
    await before(used)
    counts = rows.counts(used.tenant.id)
    transactions.clear()
    retained = await used.retain("Alice likes tea.")
    assert len(transactions) == 1
    added = rows.counts(used.tenant.id)
    assert added["traces.memory_log"] == counts["traces.memory_log"] + 1
    assert added["state.memories"] == counts["state.memories"] + retained.stored_count
    if before is duplicate:
        assert (await used.memories.get(retained.memory_ids[0])).reinforcement_count == 1
    else:
        assert len(await used.entities.mentioned(retained.memory_ids[0])) == 1


async def test_an_item_repeated_in_one_call_is_stored_once_and_reinforced(used: AsyncMemory) -> None:
    retained = await used.retain(["twice", "twice", "once"])
    assert (retained.stored_count, retained.duplicate_count) == (2, 1)
    assert (await used.memories.get(retained.memory_ids[0])).reinforcement_count == 1


async def test_evidence_is_linked(used: AsyncMemory, transactions: list[object]) -> None:
    (source,) = (await used.retain("Alice ordered tea.")).memory_ids
    (derived,) = (await used.retain("Alice likes tea.", evidence=source)).memory_ids
    related = await used.memories.related(derived)
    assert [(link.kind, link.to_id) for link in related] == [("derived_from", source)]


async def test_memories_embedded_by_a_replaced_model_wait_for_their_vector(
    open_memory: OpenMemory, rows: Rows
) -> None:
    first = await open_memory(embedder=Unsteady(name="test:first"))
    await first.retain("The first words of all.")
    tenant_id = first.tenant.id
    other = await open_memory(first.tenant.name, embedder=Unsteady(name="test:second"))
    core_of(other).serving_model = "test:second"
    core_of(other).models.embedder_named = lambda name: core_of(other).embedder  # type: ignore[method-assign]
    retained = await other.retain("Words of another model.", conversation="c")
    assert (retained.stored_count, retained.awaiting_embedding_count) == (1, 1)
    assert rows.counts(tenant_id)["queue.embedding_backlog"] == 1
    assert (await other.conversations.get("c")).turn_count == 1


@pytest.mark.parametrize("lost", [psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure])
async def test_a_transaction_repeats_a_statement_that_lost_a_race(
    used: AsyncMemory, transactions: list[object], monkeypatch: pytest.MonkeyPatch, lost: type[psycopg.Error]
) -> None:
    async def lose(self: TenantDatabase, *arguments: object, **options: object) -> object:
        raise ConflictError("Another transaction was first.") from lost()

    monkeypatch.setattr(TenantDatabase, "signed_row_of", lose)
    assert (await used.retain("Alice likes tea.")).stored_count == 1
    assert len(transactions) == 1


async def test_a_transaction_writes_the_call_behind_a_pooler_that_changes_processes(
    used: AsyncMemory, transactions: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def another(self: Database, connection: object) -> str:
        return "1@2"

    monkeypatch.setattr(Database, "_backend_identity", another)
    assert (await used.retain("Alice likes tea.")).stored_count == 1
    assert len(transactions) == 1


async def test_other_errors_are_raised(used: AsyncMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(self: TenantDatabase, *arguments: object, **options: object) -> object:
        raise ConflictError("Another transaction was first.") from psycopg.errors.UniqueViolation()

    monkeypatch.setattr(TenantDatabase, "signed_row_of", fail)
    with pytest.raises(ConflictError):
        await used.retain("Alice likes tea.")


async def test_a_log_that_is_off_stays_empty(open_memory: OpenMemory, rows: Rows) -> None:
    memory = await open_memory()
    core_of(memory).settings = core_of(memory).settings.model_copy(update={"memory_log": "off"})
    await memory.retain("The first words of all.")
    await memory.retain("Alice likes tea.")
    assert "traces.memory_log" not in rows.counts(memory.tenant.id)


async def test_a_day_without_a_log_partition_gets_one(
    database: Database, tenant_a: Tenant, admin: AppConnection, transactions: list[object]
) -> None:
    memory = opened(database, tenant_a, embedder="test")
    await memory.retain("The first words of all.")
    for (partition,) in admin.execute(
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'traces.memory_log'::regclass"
    ).fetchall():
        admin.execute(f"DROP TABLE {partition}".encode())
    transactions.clear()
    await memory.retain("Alice likes tea.")
    assert transactions == []
    assert len(await memory.log.list()) == 1
    assert len(await memory.memories.list()) == 2
