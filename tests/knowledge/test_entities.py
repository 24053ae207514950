"""Entities: upsert with merge, names and aliases, facts and their history."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import uuid4

import pytest

from mnemic.db.tenancy import Tenant
from mnemic.errors import InvalidInputError, NotFoundError, OwnerRequiredError
from mnemic.knowledge.entities import ALIASES_MAX, FACTS_MAX
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.entity import EntityReference
from mnemic.types.scope import Scope
from tests.conftest import AppConnection, ConnectAs
from tests.knowledge.conftest import WriteMemories
from tests.many_writers import WRITERS
from tests.two_tenants import CountRows


async def test_an_entity_is_read_as_it_was_written(memory: AsyncMemory) -> None:
    written = await memory.entities.upsert(
        "Person",
        " Ada  Lovelace ",
        facts={"born": 1815, "city": {"name": "London"}, "notes": None},
        aliases=["Ada", "Countess of Lovelace"],
        salience=0.75,
        metadata={"seen": True},
    )
    assert written == await memory.entities.get(written.entity_id)
    assert (written.owner, written.category, written.name, written.process, written.version) == (
        "alice",
        "person",
        "Ada  Lovelace",
        "sdk",
        1,
    )
    assert written.facts == {"born": 1815, "city": {"name": "London"}, "notes": None}
    assert (written.aliases, written.salience, written.metadata) == (
        ("Ada", "Countess of Lovelace"),
        0.75,
        {"seen": True},
    )


async def test_a_second_upsert_adds_to_the_entity(memory: AsyncMemory) -> None:
    first = await memory.entities.upsert(
        "person",
        "Ada",
        facts={"city": "London", "born": 1815},
        aliases=["A."],
        salience=0.9,
        metadata={"a": 1},
    )
    second = await memory.scope(process="importer").entities.upsert(
        "PERSON", "ADA", facts={"city": "Paris"}, aliases=["Countess", "a."], metadata={"b": 2}
    )
    assert second.entity_id == first.entity_id
    assert (second.name, second.version, second.process) == ("Ada", 2, "importer")
    assert second.facts == {"city": "Paris", "born": 1815}
    assert (second.aliases, second.metadata) == (("A.", "Countess"), {"a": 1, "b": 2})
    assert second.salience == pytest.approx(0.9)
    assert (second.created_at, second.updated_at > first.updated_at) == (first.created_at, True)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Ada Lovelace", "ada lovelace"),
        ("Ada Lovelace", "  ADA \t LOVELACE"),
        ("Ærøskøbing", "ÆRØSKØBING"),
        ("Ωmega", "ωMEGA"),
        ("Café", "Cafe\u0301"),
        ("Ｆｕｌｌ", "full"),
        ("東京", "東京"),
        ("🦊", "🦊"),
    ],
)
async def test_case_spaces_and_unicode_forms_do_not_distinguish_entities(
    memory: AsyncMemory, written: str, asked: str
) -> None:
    entity = await memory.entities.upsert("thing", written)
    # A tab is no part of a name; all that matters is that blanks do not.
    asked = asked.replace("\t", " ")
    assert await memory.entities.get("Thing", asked) == entity
    assert (await memory.entities.upsert("thing", asked)).entity_id == entity.entity_id


async def test_equal_names_in_other_categories_or_owners_are_other_entities(memory: AsyncMemory) -> None:
    entities = [
        await memory.entities.upsert("person", "Mercury"),
        await memory.entities.upsert("planet", "Mercury"),
        await memory.entities.upsert("person", "Mercury", owner="bob"),
    ]
    assert len({entity.entity_id for entity in entities}) == 3
    assert await memory.entities.get("person", "Mercury", owner="bob") == entities[2]
    assert await memory.entities.find("mercury") == entities[:2]


async def test_an_alias_finds_its_entity(memory: AsyncMemory) -> None:
    robert = await memory.entities.upsert("person", "Robert", aliases=["Bob"])
    assert await memory.entities.get("person", "bob") == robert
    assert await memory.entities.find("BOB") == [robert]
    with pytest.raises(NotFoundError):
        await memory.entities.get("place", "Bob")


async def test_a_shared_alias_finds_all_its_entities_and_is_ambiguous_as_reference(
    memory: AsyncMemory,
) -> None:
    robert = await memory.entities.upsert("person", "Robert", aliases=["Bob"], salience=0.2)
    roberta = await memory.entities.upsert("person", "Roberta", aliases=["Bob"], salience=0.8)
    assert await memory.entities.find("Bob") == [roberta, robert]
    with pytest.raises(InvalidInputError, match="alias of several"):
        await memory.entities.get("person", "Bob")
    # Whose own name it is comes first, and is meant.
    bob = await memory.entities.upsert("person", "Bob", salience=0.1)
    assert await memory.entities.get("person", "Bob") == bob
    assert await memory.entities.find("bob", limit=2) == [bob, roberta]


async def test_unknown_entities_are_not_found(memory: AsyncMemory) -> None:
    references: list[EntityReference] = [uuid4(), str(uuid4()), ("person", "Ada")]
    for reference in references:
        with pytest.raises(NotFoundError, match="has no entity"):
            await memory.entities.get(reference)
    with pytest.raises(NotFoundError, match="has no entity person 'Ada'"):
        await memory.entities.get("person", "Ada")
    assert await memory.entities.find("Ada") == []


async def test_lists_go_page_by_page_from_the_newest(memory: AsyncMemory) -> None:
    for number in range(5):
        await memory.entities.upsert("odd" if number % 2 else "even", f"e{number}")
    page = await memory.entities.list(limit=2)
    rest = await memory.entities.list(before=page[-1].entity_id)
    assert sorted(entity.name for entity in [*page, *rest]) == ["e0", "e1", "e2", "e3", "e4"]
    assert {entity.name for entity in await memory.entities.list(category="EVEN")} == {"e0", "e2", "e4"}
    assert await memory.entities.list(owner="bob") == []


async def test_history_shows_what_was_believed_before(memory: AsyncMemory) -> None:
    await memory.entities.upsert(
        "person", "Ada", facts={"city": "London"}, confidence=0.5, provenance="reasoned"
    )
    entity = await memory.entities.upsert("person", "Ada", facts={"city": "Paris", "born": 1815})
    now, before = await memory.entities.history(entity, attribute="city")
    assert (before.value, before.provenance, before.confidence) == ("London", "reasoned", 0.5)
    assert (now.value, now.provenance, now.retired_at) == ("Paris", "witnessed", None)
    assert before.retired_at == now.recorded_at > before.recorded_at
    history = await memory.entities.history(entity)
    assert {fact.attribute for fact in history} == {"city", "born"}
    assert await memory.entities.history(("person", "ada"), before=history[0].fact_id) == history[1:]


@pytest.mark.parametrize(
    ("again", "is_new"),
    [
        ({"facts": {"city": "London"}, "confidence": 0.8}, False),
        ({"facts": {"city": "London"}, "confidence": 0.3}, False),
        ({"facts": {"city": "London"}, "confidence": 0.9}, True),
        ({"facts": {"city": "London"}, "confidence": 0.8, "provenance": "measured"}, True),
        ({"facts": {"city": "london"}, "confidence": 0.8}, True),
    ],
)
async def test_a_known_fact_stays_unless_confidence_provenance_or_value_differ(
    memory: AsyncMemory, again: dict[str, Any], is_new: bool
) -> None:
    entity = await memory.entities.upsert("person", "Ada", facts={"city": "London"}, confidence=0.8)
    await memory.entities.upsert("person", "Ada", **again)
    history = await memory.entities.history(entity)
    assert len(history) == (2 if is_new else 1)
    assert [fact.retired_at is None for fact in history] == [True, False][: len(history)]


async def test_evidence_is_kept_with_the_fact_and_linked(
    memory: AsyncMemory, write_memories: WriteMemories
) -> None:
    (memory_id,) = await write_memories(["She moved to Paris."])
    entity = await memory.entities.upsert("person", "Ada", facts={"city": "Paris"})
    entity = await memory.entities.upsert("person", "Ada", facts={"city": "Paris"}, evidence=str(memory_id))
    assert [fact.memory_id for fact in await memory.entities.history(entity)] == [memory_id, None]
    assert await memory.entities.mentions(entity) == [memory_id]
    assert await memory.entities.mentioned(memory_id) == [entity]


async def test_a_fact_outlives_its_evidence(
    memory: AsyncMemory, write_memories: WriteMemories, admin: AppConnection
) -> None:
    (memory_id,) = await write_memories(["She moved to Paris."])
    entity = await memory.entities.upsert("person", "Ada", facts={"city": "Paris"}, evidence=memory_id)
    admin.execute("DELETE FROM state.memories")
    (fact,) = await memory.entities.history(entity)
    assert (fact.value, fact.memory_id) == ("Paris", None)
    assert await memory.entities.mentions(entity) == []


async def test_sixteen_writers_on_one_entity_end_with_one_row_and_every_fact(
    wide_memory: AsyncMemory,
) -> None:
    async def write(number: int) -> None:
        for turn in range(4):
            await wide_memory.entities.upsert(
                "person",
                "Ada" if number % 2 else "ADA",
                facts={f"fact {number}.{turn}": number, "shared": number},
                aliases=[f"alias {number}"],
                metadata={f"key {number}": turn},
            )

    await asyncio.gather(*map(write, range(WRITERS)))
    (entity,) = await wide_memory.entities.list()
    assert entity.version == WRITERS * 4
    assert entity.facts.keys() == {"shared"} | {
        f"fact {n}.{turn}" for n in range(WRITERS) for turn in range(4)
    }
    assert set(entity.aliases) == {f"alias {number}" for number in range(WRITERS)}
    assert entity.metadata == {f"key {number}": 3 for number in range(WRITERS)}
    shared = await wide_memory.entities.history(entity, attribute="shared")
    # Each value held until the next one came: nothing lost, nothing twice.
    assert [fact.retired_at for fact in shared] == [None, *(fact.recorded_at for fact in shared[:-1])]


async def test_writers_on_many_entities_in_any_order_never_see_a_deadlock(wide_memory: AsyncMemory) -> None:
    names = [f"e{number}" for number in range(8)]
    for name in names:
        await wide_memory.entities.upsert("thing", name)

    async def write(number: int) -> None:
        order = names[number % 8 :] + names[: number % 8]
        for here, there in zip(order, reversed(order), strict=True):
            await wide_memory.entities.upsert("thing", here, facts={f"by {number}": there})
            if here != there:
                await wide_memory.entities.relate(("thing", here), ("thing", there), f"by {number}")

    await asyncio.gather(*map(write, range(WRITERS)))
    for entity in await wide_memory.entities.list():
        assert len(entity.facts) == WRITERS


BAD_UPSERTS: list[tuple[str, dict[str, Any]]] = [
    ("category", {"category": ""}),
    ("category", {"category": "x" * 65}),
    ("category", {"category": 3}),
    ("category", {"category": "per\0son"}),
    ("name", {"name": " "}),
    ("name", {"name": "x" * 257}),
    ("name", {"name": None}),
    ("name", {"name": "A\0da"}),
    ("name", {"name": "\ud800"}),
    ("value", {"name": "ﷺ" * 20}),
    ("facts", {"facts": ["city"]}),
    ("facts", {"facts": {1: "one"}}),
    ("facts", {"facts": {"": "one"}}),
    ("facts", {"facts": {"city": {1, 2}}}),
    ("facts", {"facts": {"city": float("nan")}}),
    ("facts", {"facts": {"city": "nul \0"}}),
    ("facts", {"facts": {"city": "\udfff"}}),
    ("facts", {"facts": {"text": "x" * (1 << 20)}}),
    ("facts", {"facts": {f"a{number}": 1 for number in range(FACTS_MAX + 1)}}),
    ("aliases", {"aliases": "Bob"}),
    ("aliases", {"aliases": 7}),
    ("aliases", {"aliases": [f"a{number}" for number in range(ALIASES_MAX + 1)]}),
    ("alias", {"aliases": ["Bob", ""]}),
    ("alias", {"aliases": ["Bob", None]}),
    ("salience", {"salience": 1.2}),
    ("salience", {"salience": "high"}),
    ("metadata", {"metadata": []}),
    ("metadata", {"metadata": {"a": object()}}),
    ("confidence", {"confidence": -0.1}),
    ("confidence", {"confidence": float("nan")}),
    ("confidence", {"confidence": True}),
    ("provenance", {"provenance": "guessed"}),
    ("provenance", {"provenance": None}),
    ("evidence", {"evidence": "turn 7"}),
    ("owner", {"owner": ""}),
    ("owner", {"owner": "x" * 257}),
]


async def test_bad_input_to_upsert_is_refused_and_nothing_is_written(
    memory: AsyncMemory, count_rows: CountRows, subtests: pytest.Subtests
) -> None:
    for field, bad in BAD_UPSERTS:
        with subtests.test(field):
            given: dict[str, Any] = {"category": "person", "name": "Ada", "facts": {"born": 1815}, **bad}
            with pytest.raises(InvalidInputError, match=field):
                await memory.entities.upsert(given.pop("category"), given.pop("name"), **given)
            assert count_rows() == 0


BAD_READS: list[tuple[str, Callable[[AsyncMemory], Coroutine[Any, Any, Any]]]] = [
    ("entity", lambda memory: memory.entities.get("person")),
    ("entity", lambda memory: memory.entities.get(("person", "Ada", "x"))),  # type: ignore[arg-type]
    ("entity", lambda memory: memory.entities.get(7)),  # type: ignore[arg-type]
    ("category", lambda memory: memory.entities.get("", "Ada")),
    ("name", lambda memory: memory.entities.get("person", "")),
    ("name", lambda memory: memory.entities.find("\0")),
    ("limit", lambda memory: memory.entities.find("Ada", limit=0)),
    ("category", lambda memory: memory.entities.list(category="x" * 65)),
    ("before", lambda memory: memory.entities.list(before="first")),
    ("limit", lambda memory: memory.entities.list(limit=1001)),
    ("memory_id", lambda memory: memory.entities.mentioned("seven")),
]


async def test_bad_input_to_reading_is_refused(memory: AsyncMemory, subtests: pytest.Subtests) -> None:
    for field, call in BAD_READS:
        with subtests.test(field), pytest.raises(InvalidInputError, match=field):
            await call(memory)


async def test_a_call_without_an_owner_is_refused(memory: AsyncMemory) -> None:
    ownerless = memory._in_scope(Scope(None, memory.channel, memory.process))
    with pytest.raises(OwnerRequiredError):
        await ownerless.entities.upsert("person", "Ada")


async def test_ids_of_other_owners_and_tenants_are_not_found(
    memory: AsyncMemory,
    foreign_memory: AsyncMemory,
    write_memories: WriteMemories,
    tenant_b: Tenant,
    count_rows: CountRows,
) -> None:
    await memory.entities.upsert("person", "Ada")
    (foreign_memory_id,) = await write_memories(["a secret"], tenant=tenant_b)
    (bobs_memory_id,) = await write_memories(["a secret"], owner="bob")
    for stranger, memory_id in [
        (foreign_memory, foreign_memory_id),
        (memory.scope(owner="bob"), bobs_memory_id),
    ]:
        entity = await stranger.entities.upsert("person", "Eve", facts={"secret": 1})
        before = count_rows()
        for call in [
            memory.entities.get(entity),
            memory.entities.get(entity.entity_id),
            memory.entities.history(entity),
            memory.entities.mentions(entity),
            memory.entities.delete(entity),
            memory.entities.upsert("person", "Ada", facts={"a": 1}, evidence=memory_id),
        ]:
            with pytest.raises(NotFoundError) as error:
                await call
            assert "secret" not in str(error.value)
        assert await memory.entities.mentioned(memory_id) == []
        assert (await memory.entities.get("person", "Ada")).version == 1
        assert count_rows() == before


def test_the_application_cannot_rewrite_facts(connect_as: ConnectAs, tenant_a: Tenant) -> None:
    for statement in (
        "UPDATE state.entity_facts SET value = '1'",
        "DELETE FROM state.entity_facts",
        "UPDATE state.entities SET name = 'Eve'",
        "UPDATE state.entities SET owner = 'eve'",
        "TRUNCATE state.entities CASCADE",
    ):
        with pytest.raises(Exception, match="permission denied"):
            connect_as(tenant_a).execute(statement)
