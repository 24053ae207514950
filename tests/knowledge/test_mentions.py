"""Links between memories and the entities that they mention."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import psycopg
import pytest

from mnemic.db.access import Access
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.tenancy import Tenant
from mnemic.knowledge import mentions
from mnemic.knowledge.mentions import link_mentions
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.identity import new_id
from tests.conftest import AppConnection, ConnectAs
from tests.knowledge.conftest import INSERT_MEMORIES, WriteMemories
from tests.many_writers import wide_database
from tests.opened import opened
from tests.waiting import wait_for

BATCH = 1_000


# The longer of overlapping names first: a memory is linked to the names that are known at that time.
NAMES: list[tuple[str, list[str]]] = [
    ("New York", ["NYC"]),
    ("York", []),
    ("Ada Lovelace", ["Ada", "@ada"]),
    ("May", []),
    ("US", []),
    ("C++", []),
    ("rust", []),
    ("Seán O'Brien", []),
    ("東京", []),
    ("🦊", []),
    ("The Who", []),
]


@pytest.fixture
async def named(memory: AsyncMemory) -> AsyncMemory:
    """A memory that knows some entities."""
    for name, aliases in NAMES:
        await memory.entities.upsert("thing", name, aliases=aliases)
    return memory


async def link(database: TenantDatabase, texts: Sequence[tuple[UUID, str]], owner: str = "alice") -> int:
    async def work(transaction: Transaction) -> int:
        return await link_mentions(transaction, owner, texts)

    return await database.run(work)


async def mentioned(memory: AsyncMemory, memory_id: UUID) -> set[str]:
    return {entity.name for entity in await memory.entities.mentioned(memory_id)}


TEXTS: list[tuple[str, set[str]]] = [
    ("I met Ada Lovelace.", {"Ada Lovelace"}),
    ("ADA LOVELACE! ada's book", {"Ada Lovelace"}),
    ("ada  lovelace", {"Ada Lovelace"}),
    ("(Ada)/York", {"Ada Lovelace", "York"}),
    ("thanks @ada", {"Ada Lovelace"}),
    ("Adam, Adage, Canada, adaptive", set()),
    ("Ada_Lovelace", set()),
    ("New York is not York.", {"New York", "York"}),
    ("I love new york", {"New York"}),
    ("New Yorkers in NYC", {"New York"}),
    ("you may go to US", {"US"}),
    ("tell us, May", {"May"}),
    ("MAY", set()),
    ("C++ or C", {"C++"}),
    ("C and C#", set()),
    ("Rust never sleeps", {"rust"}),
    ("Seán O’Brien's dog", {"Seán O'Brien"}),
    ("Sea\u0301n O'Brien", {"Seán O'Brien"}),
    ("私は東京に住んでいます", {"東京"}),
    ("京東", set()),
    ("look, a 🦊!", {"🦊"}),
    ("The Who played", {"The Who"}),
    ("the who is who", set()),
    ("nothing here", set()),
    ("…", set()),
]


async def test_names_are_found_as_whole_words_in_new_memories(
    named: AsyncMemory, tenant_database: TenantDatabase, write_memories: WriteMemories
) -> None:
    memory_ids = await write_memories([text for text, _ in TEXTS])
    texts = [(memory_id, text) for memory_id, (text, _) in zip(memory_ids, TEXTS, strict=True)]
    assert await link(tenant_database, texts) == sum(len(names) for _, names in TEXTS)
    found = [(text, await mentioned(named, memory_id)) for memory_id, text in texts]
    assert found == TEXTS


async def test_new_names_are_found_in_existing_memories(
    memory: AsyncMemory, write_memories: WriteMemories
) -> None:
    memory_ids = await write_memories([text for text, _ in TEXTS])
    for name, aliases in NAMES:
        await memory.entities.upsert("thing", name, aliases=aliases)
    found = [(text, await mentioned(memory, memory_ids[place])) for place, (text, _) in enumerate(TEXTS)]
    assert found == TEXTS


async def test_a_new_alias_is_found_too(memory: AsyncMemory, write_memories: WriteMemories) -> None:
    memory_ids = await write_memories(["The Countess came.", "Nobody came."])
    entity = await memory.entities.upsert("person", "Ada")
    assert await memory.entities.mentions(entity) == []
    await memory.entities.upsert("person", "Ada", aliases=["the countess"])
    assert await memory.entities.mentions(entity) == memory_ids[:1]


async def test_a_shared_alias_links_all_its_entities(
    memory: AsyncMemory, tenant_database: TenantDatabase, write_memories: WriteMemories
) -> None:
    await memory.entities.upsert("person", "Robert", aliases=["Bob"])
    await memory.entities.upsert("person", "Roberta", aliases=["Bob"])
    (memory_id,) = await write_memories(["Bob called."])
    assert await link(tenant_database, [(memory_id, "Bob called.")]) == 2


async def test_linking_again_changes_nothing(
    named: AsyncMemory, tenant_database: TenantDatabase, write_memories: WriteMemories
) -> None:
    (memory_id,) = await write_memories(["Ada in York"])
    texts = [(memory_id, "Ada in York")]
    assert [await link(tenant_database, texts) for _ in range(3)] == [2, 0, 0]


async def test_an_owner_without_entities_costs_one_query(
    memory: AsyncMemory, tenant_database: TenantDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.entities.upsert("person", "Ada", owner="bob")
    asked: list[str] = []

    async def one(self: Transaction, name: str, parameters: object = None) -> dict[str, bool]:
        asked.append(name)
        return await real_one(self, name, parameters)  # type: ignore[arg-type]

    real_one = Transaction.one
    monkeypatch.setattr(Transaction, "one", one)
    monkeypatch.setattr(mentions, "split_words", None)
    assert await link(tenant_database, [(UUID(int=1), "Ada")] * BATCH) == 0
    assert asked == ["mentions.lock_shared"]
    assert await link(tenant_database, []) == 0
    assert asked == ["mentions.lock_shared"]


async def test_a_batch_of_a_thousand_texts_is_linked(
    memory: AsyncMemory, tenant_database: TenantDatabase, write_memories: WriteMemories
) -> None:
    for number in range(20):
        await memory.entities.upsert("person", f"Person {number}", aliases=[f"P{number}"])
    texts = [f"Today P{number % 40} met Person {number % 10} near house {number}." for number in range(BATCH)]
    memory_ids = await write_memories(texts)
    # Every text mentions one of ten; every other one also one of twenty, one in forty the same person twice.
    expected = sum(
        len({number % 10} | ({number % 40} if number % 40 < 20 else set())) for number in range(BATCH)
    )
    assert await link(tenant_database, list(zip(memory_ids, texts, strict=True))) == expected
    assert await mentioned(memory, memory_ids[23]) == {"Person 3"}
    assert await mentioned(memory, memory_ids[15]) == {"Person 15", "Person 5"}


async def test_a_new_name_is_linked_to_the_newest_memories_up_to_the_limit(
    memory: AsyncMemory, write_memories: WriteMemories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mentions, "EXISTING_LINKED_MAX", 3)
    memory_ids = sorted(await write_memories([f"Ada and 東京, {number}" for number in range(5)]))
    ada = await memory.entities.upsert("person", "Ada")
    assert await memory.entities.mentions(ada) == memory_ids[:1:-1]
    tokyo = await memory.entities.upsert("city", "東京")
    assert await memory.entities.mentions(tokyo) == memory_ids[:1:-1]
    assert await memory.entities.mentions(tokyo, before=memory_ids[4], limit=1) == [memory_ids[3]]


async def test_links_never_leave_their_owner_or_tenant(
    memory: AsyncMemory,
    foreign_memory: AsyncMemory,
    tenant_database: TenantDatabase,
    write_memories: WriteMemories,
    tenant_b: Tenant,
    admin: AppConnection,
) -> None:
    text = "Ada in 東京"
    (mine,) = await write_memories([text])
    (bobs,) = await write_memories([text], owner="bob")
    (foreign,) = await write_memories([text], tenant=tenant_b)
    entities = [await memory.entities.upsert("x", name) for name in ("Ada", "東京")]
    for entity in entities:
        assert await memory.entities.mentions(entity) == [mine]
    # A memory of another owner is not linked.
    for stranger in (bobs, foreign):
        assert await link(tenant_database, [(stranger, text)]) == 0
    await foreign_memory.entities.upsert("x", "Ada")
    rows = admin.execute(
        "SELECT memory_id FROM state.memory_entities WHERE tenant_id = ANY(%s)",
        [[memory.tenant.id, tenant_b.id]],
    ).fetchall()
    assert {memory_id for (memory_id,) in rows} == {mine, foreign}


@pytest.mark.parametrize("newest_max", [1, 100])
async def test_the_search_function_shows_only_the_verified_tenants_memories(
    connect_as: ConnectAs, write_memories: WriteMemories, tenant_a: Tenant, tenant_b: Tenant, newest_max: int
) -> None:
    for when in ("early", "late"):
        await write_memories([f"a secret of b, {when}"], tenant=tenant_b)
        await write_memories([f"a secret of bob, {when}"], owner="bob")
        await write_memories([f"a secret of alice, {when}"])
    search = "SELECT content FROM mnemic.memories_with_phrases(%s, %s, %s, 100)"
    connection = connect_as(tenant_a)
    for owner in ("alice", "bob"):
        found = connection.execute(search, (owner, ["nothing", "secret of"], newest_max)).fetchall()
        assert found == [(f"a secret of {owner}, late",), (f"a secret of {owner}, early",)]
    # Without a proven tenant, or with another one and no proof, the function returns nothing.
    assert connect_as(None).execute(search, ("alice", ["secret"], newest_max)).fetchall() == []
    connection.execute("SELECT set_config('mnemic.tenant', %s, true)", (str(tenant_b.id),))
    assert connection.execute(search, ("alice", ["secret"], newest_max)).fetchall() == []
    # Stop words, nothing, NULL.
    for phrases in (["the", "of"], [], [""], None, ["'\\ & | !"]):
        assert connect_as(tenant_a).execute(search, ("alice", phrases, newest_max)).fetchall() == []


async def test_the_caller_cannot_change_the_behaviour_of_the_search_function(
    connect_as: ConnectAs, tenant_a: Tenant
) -> None:
    """The function ignores the search path and the temporary tables of its caller."""
    connection = connect_as(tenant_a)
    connection.execute(
        "CREATE TEMP TABLE memories (tenant_id uuid, owner text, memory_id uuid, content text)"
    )
    connection.execute("SET LOCAL search_path = pg_temp, pg_catalog")
    assert (
        connection.execute("SELECT * FROM mnemic.memories_with_phrases('alice', '{secret}', 1, 1)").fetchall()
        == []
    )
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("SET ROLE mnemic_definer")


@pytest.mark.parametrize("newest_max", [1, 7, 10, 1000])
async def test_the_search_returns_the_newest_matches(
    connect_as: ConnectAs, write_memories: WriteMemories, tenant_a: Tenant, newest_max: int
) -> None:
    ids = await write_memories(
        [f"{'rare' if number % 3 else 'common'} word {number}" for number in range(20)]
    )
    newest_first = sorted(ids, reverse=True)
    wanted = [memory_id for memory_id in newest_first if ids.index(memory_id) % 3]
    search = "SELECT memory_id FROM mnemic.memories_with_phrases('alice', '{rare word,none}', %s, %s)"
    for most in (1, 5, 13, 100):
        found = connect_as(tenant_a).execute(search, (newest_max, most)).fetchall()
        assert [memory_id for (memory_id,) in found] == wanted[:most]


async def test_older_memories_are_searched_by_the_lexical_index(
    admin: AppConnection, write_memories: WriteMemories, tenant_a: Tenant
) -> None:
    for owner in ("alice", "bob"):
        await write_memories(
            [f"word{number % 500} and common words, {number}" for number in range(5_000)], owner=owner
        )
    admin.execute("VACUUM ANALYZE state.memories")
    admin.execute("SET ROLE mnemic_definer")
    explain = (
        "EXPLAIN SELECT memory_id FROM state.memories"
        " WHERE tenant_id = %s AND owner = 'alice' AND words @@ phraseto_tsquery('english', 'word7')"
    )
    plan = "\n".join(str(row[0]) for row in admin.execute(explain, (tenant_a.id,)).fetchall())
    assert "memories_words" in plan
    # The policy of mnemic_definer costs nothing.
    assert "InitPlan" not in plan


async def test_a_memory_and_an_entity_written_at_once_are_linked(
    access: Access, tenant_a: Tenant, admin: AppConnection
) -> None:
    """A retain that has looked for names already commits only after the upsert has begun."""
    async with wide_database(access) as database:
        memory, tenant_database = opened(database, tenant_a), TenantDatabase(database, tenant_a)
        await memory.entities.upsert("person", "Somebody")
        async with tenant_database.transaction() as transaction:
            memory_id = new_id()
            values = (tenant_a.id, "alice", [memory_id], ["Ada came."])
            await transaction.connection.execute(INSERT_MEMORIES, values)
            assert await link_mentions(transaction, "alice", [(memory_id, "Ada came.")]) == 0
            upsert = asyncio.create_task(memory.entities.upsert("person", "Ada"))
            await wait_for(lambda: is_waiting(admin), what="the upsert to wait for the retain")
        entity = await upsert
        assert await memory.entities.mentions(entity) == [memory_id]


async def test_an_upsert_does_not_wait_long_for_a_long_retain(access: Access, tenant_a: Tenant) -> None:
    async with wide_database(access) as database:
        memory, tenant_database = opened(database, tenant_a), TenantDatabase(database, tenant_a)
        await memory.entities.upsert("person", "Somebody")
        async with tenant_database.transaction() as transaction:
            await link_mentions(transaction, "alice", [(UUID(int=1), "Ada came.")])
            entity = await asyncio.wait_for(memory.entities.upsert("person", "Ada"), timeout=60)
            assert entity.name == "Ada"
            # Other owners do not even notice.
            await asyncio.wait_for(memory.entities.upsert("person", "Ada", owner="bob"), timeout=60)


def is_waiting(admin: AppConnection) -> bool:
    waiting = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)"
    return admin.execute(waiting).fetchone() == (True,)
