"""What later requests must repeat is stored exactly, and belongs to one session of one owner."""

import pytest

from mnemic.context.step import SavedWindow
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.proxy import exchanges
from mnemic.proxy.exchanges import (
    Transcript,
    begin_transcript,
    load_transcript,
    store_cut,
    store_exchange,
)
from mnemic.proxy.hidden_tools import HIDDEN_TOOLS
from mnemic.proxy.protocol import Exchange, HiddenTool, ThinkingCut
from mnemic.types.scope import Scope
from tests.context.saving import save_step
from tests.opened import opened

ALICE = Scope("alice", "_global", "test")
BOB = Scope("bob", "_global", "test")
AWKWARD = "NUL \0, a lone surrogate \ud83d, and 1.0\r\n"
ITEM = {"role": "assistant", "content": [{"type": "text", "text": AWKWARD, "zeta": 1.0, "alpha": 2**60}]}


@pytest.fixture
def tenant_database(database: Database, tenant_a: Tenant) -> TenantDatabase:
    """The database as a tenant sees it."""
    return TenantDatabase(database, tenant_a)


async def test_transcript_is_loaded_as_it_was_stored(tenant_database: TenantDatabase) -> None:
    assert await load_transcript(tenant_database, ALICE, "s") is None
    first = ThinkingCut("", "calls:a")
    begun = await begin_transcript(
        tenant_database, ALICE, "s", opening=AWKWARD, tools=HIDDEN_TOOLS, cut=first
    )
    assert begun == Transcript(AWKWARD, HIDDEN_TOOLS, {}, (first,))
    one = Exchange("calls:a,b", [ITEM], [{"type": "tool_result", "tool_use_id": "h", "content": AWKWARD}])
    two = Exchange("text:1", [ITEM, ITEM], response_ids={"r1": "r2"})
    await store_exchange(tenant_database, ALICE, "s", one)
    await store_exchange(tenant_database, ALICE, "s", two)
    second = ThinkingCut("a", "calls:b", "calls:b")
    async with tenant_database.transaction() as transaction:
        await store_cut(transaction, ALICE, "s", second)
    loaded = await load_transcript(tenant_database, ALICE, "s")
    assert loaded is not None
    assert loaded.opening == AWKWARD
    assert loaded.tools == HIDDEN_TOOLS
    assert list(loaded.exchanges) == ["calls:a,b", "text:1"]
    assert loaded.exchanges["calls:a,b"].items == [ITEM]
    assert list(loaded.exchanges["calls:a,b"].items[0]["content"][0]) == ["type", "text", "zeta", "alpha"]
    assert loaded.exchanges["calls:a,b"].results == one.results
    assert loaded.exchanges["text:1"].response_ids == {"r1": "r2"}
    assert loaded.cuts == (first, second)


async def test_first_start_of_a_session_wins(tenant_database: TenantDatabase) -> None:
    await begin_transcript(tenant_database, ALICE, "s", opening=None, tools=HIDDEN_TOOLS)
    other = [HiddenTool("recall", "Other words.", {})]
    late = await begin_transcript(tenant_database, ALICE, "s", opening="late", tools=other)
    assert late == Transcript(None, HIDDEN_TOOLS)


async def test_exchange_of_the_same_turn_replaces_the_older_one(tenant_database: TenantDatabase) -> None:
    await begin_transcript(tenant_database, ALICE, "s", opening=None, tools=())
    await store_exchange(tenant_database, ALICE, "s", Exchange("k", [ITEM]))
    await store_exchange(tenant_database, ALICE, "s", Exchange("k", [ITEM, ITEM]))
    loaded = await load_transcript(tenant_database, ALICE, "s")
    assert loaded is not None
    assert len(loaded.exchanges["k"].items) == 2


async def test_sessions_and_owners_share_nothing(tenant_database: TenantDatabase) -> None:
    await begin_transcript(tenant_database, ALICE, "s", opening="hers", tools=HIDDEN_TOOLS)
    await store_exchange(tenant_database, ALICE, "s", Exchange("k", [ITEM]))
    assert await load_transcript(tenant_database, BOB, "s") is None
    assert await load_transcript(tenant_database, ALICE, "t") is None
    begun = await begin_transcript(tenant_database, BOB, "s", opening="his", tools=())
    assert begun.opening == "his"
    loaded = await load_transcript(tenant_database, BOB, "s")
    assert loaded is not None
    assert not loaded.exchanges


async def test_oldest_exchanges_go_above_the_limit(
    tenant_database: TenantDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchanges, "EXCHANGES_MAX", 3)
    await begin_transcript(tenant_database, ALICE, "s", opening=None, tools=())
    await begin_transcript(tenant_database, ALICE, "t", opening=None, tools=())
    await store_exchange(tenant_database, ALICE, "t", Exchange("other", [ITEM]))
    for number in range(6):
        await store_exchange(tenant_database, ALICE, "s", Exchange(f"k{number}", [ITEM]))
    await store_exchange(tenant_database, ALICE, "s", Exchange("k5", [ITEM]))
    loaded = await load_transcript(tenant_database, ALICE, "s")
    assert loaded is not None
    assert list(loaded.exchanges) == ["k3", "k4", "k5"]
    other = await load_transcript(tenant_database, ALICE, "t")
    assert other is not None
    assert list(other.exchanges) == ["other"]


async def test_deleted_session_takes_its_transcript_along(tenant_database: TenantDatabase) -> None:
    for session in ("s", "t"):
        await begin_transcript(tenant_database, ALICE, session, opening=None, tools=HIDDEN_TOOLS)
        await store_exchange(tenant_database, ALICE, session, Exchange("k", [ITEM]))
        await save_step(tenant_database, ALICE, session, None, SavedWindow(calls=1), {})
    async with tenant_database.transaction() as transaction:
        await transaction.execute("context_sessions.delete", {"owner": "alice", "session": "s"})
    assert await load_transcript(tenant_database, ALICE, "s") is None
    assert await load_transcript(tenant_database, ALICE, "t") is not None


async def test_erased_owner_leaves_no_transcript(database: Database, tenant_a: Tenant) -> None:
    tenant_database = TenantDatabase(database, tenant_a)
    for scope in (ALICE, BOB):
        await begin_transcript(
            tenant_database, scope, "s", opening=AWKWARD, tools=(), cut=ThinkingCut("", "calls:a")
        )
        await store_exchange(tenant_database, scope, "s", Exchange("k", [ITEM]))
    async with opened(database, tenant_a) as memory:
        await memory.admin.erase("alice")
    assert await load_transcript(tenant_database, ALICE, "s") is None
    kept = await load_transcript(tenant_database, BOB, "s")
    assert kept is not None
    assert kept.exchanges
    assert kept.cuts
