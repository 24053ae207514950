"""Erased means erased: nothing of an owner is left in any column of any table. Nobody else loses a row."""

from typing import Any
from uuid import uuid4

import pytest

from mnemic.db.database import Database
from mnemic.errors import InvalidInputError, MnemicError, NotFoundError
from mnemic.govern.sessions import open_session
from mnemic.sdk.memory import AsyncMemory
from tests.backup.everything import fill
from tests.fresh_tenants import OpenMemory, Rows, vector_of
from tests.opened import core_of
from tests.unsteady_engine import Unsteady

ALL_TABLES = """
    SELECT pg_class.oid::regclass::text
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname IN ('mnemic', 'state', 'vectors', 'traces', 'queue') AND relkind IN ('r', 'p', 'm')
"""
STATISTICS = "SELECT count(*) FROM pg_stats WHERE pg_stats::text ILIKE %s"


@pytest.fixture
def engine() -> Unsteady:
    return Unsteady()


@pytest.fixture
async def memory(open_memory: OpenMemory, engine: Unsteady) -> AsyncMemory:
    return await open_memory(embedder=engine, owner=None)


def where_it_is(rows: Rows, needle: str) -> dict[str, int]:
    """In which tables a text is, anywhere in a row, and in how many rows."""
    tables = [str(name) for (name,) in rows.select(ALL_TABLES)]
    pattern = f"%{needle}%"
    found = {
        name: rows.value(f"SELECT count(*) FROM {name} AS r WHERE r::text ILIKE %s", pattern)
        for name in tables
    }
    return {name: int(str(count)) for name, count in found.items() if count}


def fresh_word() -> str:
    return f"qz{uuid4().hex[:10]}"


@pytest.mark.usefixtures("no_comparisons")
async def test_nothing_of_an_erased_owner_is_left_anywhere(
    memory: AsyncMemory, open_memory: OpenMemory, engine: Unsteady, rows: Rows
) -> None:
    word, name, kept_word = fresh_word(), fresh_word(), fresh_word()
    foreign = await open_memory(embedder=engine, owner=None)
    memory_id = await fill(memory, name, word, engine)
    await fill(memory, "somebody else", kept_word, engine)
    await fill(foreign, name, word, engine)
    key = await memory.keys.create(role="read", owner=name)
    await open_session(core_of(memory).storage.tenant_database, key)
    # Its event waits to be read, and so is still in the inbox.
    await memory.state.set(f"last of {word}", {"word": word}, owner=name)
    vector = vector_of(rows, memory_id)
    vector_table = rows.value("SELECT table_name FROM mnemic.vector_models WHERE model = %s", engine.name)
    tenant_id = memory.tenant.id
    owned = {str(table) for (table,) in rows.select("SELECT guarded::text FROM mnemic.tables_with_owners()")}
    before, foreign_before = rows.counts(tenant_id), rows.counts(foreign.tenant.id)
    kept_before = where_it_is(rows, kept_word)
    assert len(kept_before) > 20, "the search finds what is there"
    maps = {"vectors.memory_positions", "vectors.map_regions"}
    kept_apart = {f"vectors.{vector_table}"} | maps
    expected = {table for table in owned if not table.startswith("vectors.")} | kept_apart
    assert expected - set(before) == set(), "everything that can be held is held"

    receipt = await memory.admin.erase(name)

    after = rows.counts(tenant_id)
    gone = {table: before[table] - after.get(table, 0) for table in before}
    # The receipt's own intent and outcome.
    gone["traces.audit_log"] += 2
    assert gone == {table: receipt.rows.get(table, 0) for table in before}
    assert set(receipt.rows) == owned
    assert receipt.row_count == sum(receipt.rows.values()) == sum(gone.values())
    assert [table for table in expected if not gone[table]] == []
    assert where_it_is(rows, kept_word) == kept_before
    assert rows.counts(foreign.tenant.id) == foreign_before
    await foreign.admin.erase(name)
    for needle in (word, name, str(memory_id), str(vector)):
        assert where_it_is(rows, needle) == {}, needle


async def test_the_planner_knows_nothing_of_an_erased_owner(
    memory: AsyncMemory, engine: Unsteady, rows: Rows
) -> None:
    word, name = fresh_word(), fresh_word()
    await fill(memory, name, word, engine)
    rows.run("ANALYZE")
    await memory.admin.erase(name)
    assert [rows.value(STATISTICS, f"%{needle}%") for needle in (word, name)] == [0, 0]


async def test_the_audit_log_keeps_the_receipt_without_the_name(memory: AsyncMemory) -> None:
    await memory.retain("Carol has a secret.", owner="carol")
    receipt = await memory.admin.erase("carol")
    outcome, intent = await memory.audit.list()
    assert (intent.action, intent.phase, intent.target, intent.owner) == (
        "erase_owner",
        "intent",
        str(receipt.receipt_id),
        None,
    )
    assert (outcome.phase, outcome.detail["rows"]) == ("succeeded", receipt.rows)
    assert "carol" not in str((intent, outcome))
    assert (outcome.target, outcome.at) == (str(receipt.receipt_id), receipt.finished_at)
    assert await memory.admin.receipt(receipt.receipt_id) == receipt
    assert await memory.admin.receipts() == [receipt]


async def test_receipts_are_those_of_the_tenant(memory: AsyncMemory, open_memory: OpenMemory) -> None:
    receipt = await memory.admin.erase("nobody", mode="archive")
    foreign = await open_memory(owner=None)
    assert await foreign.admin.receipts() == []
    with pytest.raises(NotFoundError, match="no receipt"):
        await foreign.admin.receipt(receipt.receipt_id)
    with pytest.raises(InvalidInputError, match="receipt_id"):
        await memory.admin.receipt("carol")


async def test_an_owner_that_has_nothing_gets_a_receipt_of_zeros(memory: AsyncMemory) -> None:
    receipt = await memory.admin.erase("nobody")
    assert (receipt.row_count, receipt.mode) == (0, "erase")
    assert receipt.rows["state.memories"] == 0


async def test_erasing_takes_the_whole_name_and_no_other(memory: AsyncMemory) -> None:
    for owner in ("bob", "Bob", "bobby", "bo_", "%"):
        await memory.retain("Mine.", owner=owner)
    await memory.admin.erase("bo_")
    await memory.admin.erase("%")
    assert sorted(await memory.admin.owners()) == ["Bob", "bob", "bobby"]


async def test_an_erased_owner_can_begin_anew(memory: AsyncMemory) -> None:
    await memory.retain({"content": "Old.", "external_id": "e"}, owner="bob", conversation="c")
    await memory.admin.erase("bob")
    retained = await memory.retain({"content": "Old.", "external_id": "e"}, owner="bob", conversation="c")
    assert (retained.stored_count, retained.refused_count) == (1, 0)
    assert (await memory.conversations.get("c", owner="bob")).turn_count == 1


async def test_archiving_takes_an_owner_out_of_recall_and_keeps_everything(
    memory: AsyncMemory, rows: Rows
) -> None:
    own = memory.scope(owner="bob")
    first, second = (await own.retain(["One.", "Two."], conversation="c")).memory_ids
    await own.memories.forget(second)
    await memory.retain("One.", owner="alice")
    before = rows.counts(memory.tenant.id)
    receipt = await memory.admin.erase("bob", mode="archive")
    assert receipt.rows == {"state.memories": 1, "state.conversations": 1}
    assert await own.memories.list() == []
    archived = await own.memories.get(first)
    assert (archived.status, archived.content, archived.version) == ("archived", "One.", 2)
    assert (await own.conversations.get("c")).archived_at is not None
    assert len(await memory.memories.list(owner="alice")) == 1
    after = rows.counts(memory.tenant.id)
    told = before["queue.event_inbox"] + 1
    assert after == before | {
        "state.memory_versions": 2,
        "traces.audit_log": 2,
        "queue.event_inbox": told,
    }
    assert (await memory.audit.list())[0].action == "archive_owner"
    await own.memories.restore(first)
    assert len(await own.memories.list()) == 1


async def test_an_erasure_that_fails_erases_nothing_and_says_so(
    memory: AsyncMemory, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.retain(["One.", "Two."], owner="bob")
    before = rows.counts(memory.tenant.id)
    database: Database = core_of(memory).storage.database
    transaction = type(database).transaction

    def without_proof(self: Database, tenant: Any, *, maintenance: bool = False, **options: Any) -> Any:
        return transaction(self, tenant, maintenance=False, **options)

    monkeypatch.setattr(Database, "transaction", without_proof)
    with pytest.raises(MnemicError, match="proof of maintenance"):
        await memory.admin.erase("bob")
    outcome, intent = await memory.audit.list()
    assert (outcome.phase, outcome.intent_id) == ("failed", intent.audit_id)
    assert rows.counts(memory.tenant.id) == before | {"traces.audit_log": 2}


@pytest.mark.parametrize(("owner", "mode"), [("", "erase"), (5, "erase"), ("bob", "burn"), ("bob", None)])
async def test_bad_orders_are_refused_and_not_even_audited(
    memory: AsyncMemory, rows: Rows, owner: Any, mode: Any
) -> None:
    with pytest.raises(InvalidInputError):
        await memory.admin.erase(owner, mode=mode)
    assert rows.counts(memory.tenant.id) == {}


async def test_no_owner_is_nobody_even_where_the_memory_has_one(open_memory: OpenMemory) -> None:
    memory = await open_memory(owner="alice")
    await memory.retain("Mine.")
    with pytest.raises(InvalidInputError):
        await memory.admin.erase(None)  # type: ignore[arg-type]
    assert len(await memory.memories.list()) == 1
