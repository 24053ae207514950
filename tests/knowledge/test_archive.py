"""Entities are deleted into the archive and restored with everything that belonged to them."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.knowledge.conftest import WriteMemories
from tests.many_writers import WRITERS
from tests.two_tenants import CountRows


@pytest.fixture
def own_database() -> bool:
    """Yes: the tests look at a whole database."""
    return True


def contents(admin: AppConnection) -> dict[str, list[tuple[object, ...]]]:
    """The rows of all entity tables, without columns that a restore may change."""
    tables = ("entity_names", "entity_facts", "entity_relations", "memory_entities")
    found = {
        table: admin.execute(f"SELECT * FROM state.{table} ORDER BY 1, 2, 3, 4").fetchall()
        for table in tables
    }
    entities = (
        "SELECT tenant_id, entity_id, owner, category, name, salience, metadata, process, created_at"
        " FROM state.entities ORDER BY entity_id"
    )
    return found | {"entities": admin.execute(entities).fetchall()}


async def test_a_deleted_entity_is_gone_and_listed_in_the_archive(memory: AsyncMemory) -> None:
    entity = await memory.entities.upsert("person", "Ada", facts={"born": 1815}, aliases=["Countess"])
    archived = await memory.scope(process="cleaner").entities.delete("Person", "countess")
    assert (archived.entity_id, archived.owner, archived.category, archived.name, archived.process) == (
        entity.entity_id,
        "alice",
        "person",
        "Ada",
        "cleaner",
    )
    with pytest.raises(NotFoundError):
        await memory.entities.get(entity)
    with pytest.raises(NotFoundError):
        await memory.entities.delete(entity)
    assert await memory.entities.find("Countess") == []
    assert await memory.entities.archived() == [archived]


async def test_a_delete_is_audited_with_its_outcome(memory: AsyncMemory) -> None:
    await memory.entities.upsert("person", "Ada")
    await memory.entities.delete("person", "Ada")
    with pytest.raises(NotFoundError):
        await memory.entities.delete("person", "Ada")
    acts = [(act.action, act.target, act.phase) for act in await memory.audit.list()]
    assert acts == [
        ("delete_entity", "person 'Ada'", "failed"),
        ("delete_entity", "person 'Ada'", "intent"),
        ("delete_entity", "person 'Ada'", "succeeded"),
        ("delete_entity", "person 'Ada'", "intent"),
    ]


async def test_delete_and_restore_lose_nothing(
    memory: AsyncMemory, write_memories: WriteMemories, admin: AppConnection
) -> None:
    memory_ids = await write_memories(["Ada lives in London.", "Ada moved to Paris.", "She likes tea."])
    await memory.entities.upsert("city", "London", salience=0.3)
    await memory.entities.upsert(
        "person", "Ada", facts={"city": "London"}, evidence=memory_ids[0], confidence=0.7
    )
    ada = await memory.entities.upsert(
        "person", "Ada", facts={"city": "Paris"}, aliases=["Countess"], salience=0.9, metadata={"a": [1]}
    )
    await memory.entities.relate(ada, ("city", "London"), "left", confidence=0.6, evidence=memory_ids[2])
    await memory.entities.relate(("city", "London"), ada, "misses", provenance="reasoned")
    before = contents(admin)
    assert len(before["memory_entities"]) == 5

    await memory.entities.delete(ada)
    assert len(contents(admin)["entities"]) == 1
    restored = await memory.entities.restore(ada)
    assert contents(admin) == before
    assert restored.version == ada.version + 1
    assert (restored.facts, restored.aliases, restored.salience) == (ada.facts, ada.aliases, ada.salience)
    assert await memory.entities.archived() == []


async def test_restore_by_name_takes_the_one_deleted_last(memory: AsyncMemory) -> None:
    for born in (1, 2):
        await memory.entities.upsert("person", "Ada", facts={"born": born})
        await memory.entities.delete("person", "Ada")
    assert (await memory.entities.restore("PERSON", "ada")).facts == {"born": 2}
    assert [archived.name for archived in await memory.entities.archived()] == ["Ada"]


async def test_restore_leaves_out_relations_whose_other_end_is_gone(
    memory: AsyncMemory, write_memories: WriteMemories, admin: AppConnection
) -> None:
    (memory_id,) = await write_memories(["Ada lives in London."])
    ada = await memory.entities.upsert("person", "Ada", facts={"city": "London"}, evidence=memory_id)
    await memory.entities.upsert("city", "London")
    await memory.entities.relate(ada, ("city", "London"), "lives in", evidence=memory_id)
    await memory.entities.delete(ada)
    admin.execute("DELETE FROM state.memories")
    admin.execute("DELETE FROM state.entities")
    await memory.entities.restore(ada)
    (fact,) = await memory.entities.history(ada)
    assert (fact.value, fact.memory_id) == ("London", None)
    graph = await memory.entities.graph(ada)
    assert (len(graph.nodes), graph.relations) == (1, ())
    assert await memory.entities.mentions(ada) == []


@pytest.mark.parametrize("first_back", [0, 1])
async def test_a_relation_is_restored_with_its_second_entity(memory: AsyncMemory, first_back: int) -> None:
    ends = [await memory.entities.upsert("thing", name) for name in "ab"]
    relation = await memory.entities.relate(ends[0], ends[1], "knows", confidence=0.25)
    for end in ends:
        await memory.entities.delete(end)
    await memory.entities.restore(ends[first_back])
    await memory.entities.restore(ends[1 - first_back])
    assert (await memory.entities.graph(ends[0])).relations == (relation,)


async def test_memories_stored_in_the_meantime_are_linked(
    memory: AsyncMemory, write_memories: WriteMemories
) -> None:
    ada = await memory.entities.upsert("person", "Ada")
    await memory.entities.delete(ada)
    memory_ids = await write_memories(["I saw Ada today."])
    await memory.entities.restore(ada)
    assert await memory.entities.mentions(ada) == memory_ids


async def test_restoring_a_name_in_use_is_a_conflict_and_changes_nothing(
    memory: AsyncMemory, admin: AppConnection, count_rows: CountRows
) -> None:
    old = await memory.entities.upsert("person", "Ada", facts={"born": 1})
    await memory.entities.delete(old)
    new = await memory.entities.upsert("person", "ADA")
    before = (contents(admin), count_rows())
    with pytest.raises(ConflictError, match="'Ada' of the category 'person' again"):
        await memory.entities.restore(old)
    assert (contents(admin), count_rows()) == before
    await memory.entities.delete(new)
    assert (await memory.entities.restore(old)).facts == {"born": 1}


async def test_the_archive_is_listed_page_by_page(memory: AsyncMemory) -> None:
    for number in range(5):
        await memory.entities.upsert("thing", f"e{number}")
        await memory.entities.delete("thing", f"e{number}")
    page = await memory.entities.archived(limit=2)
    rest = await memory.entities.archived(before=page[-1].entity_id)
    assert [archived.name for archived in [*page, *rest]] == ["e4", "e3", "e2", "e1", "e0"]


async def test_archives_are_separate_per_owner_and_tenant(
    memory: AsyncMemory, foreign_memory: AsyncMemory, count_rows: CountRows
) -> None:
    for stranger in (foreign_memory, memory.scope(owner="bob")):
        entity = await stranger.entities.upsert("person", "Eve")
        before = count_rows()
        with pytest.raises(NotFoundError):
            await memory.entities.delete(entity)
        await stranger.entities.delete(entity)
        for call in (memory.entities.restore(entity), memory.entities.restore("person", "Eve")):
            with pytest.raises(NotFoundError, match="archive"):
                await call
        assert await memory.entities.archived() == []
        await stranger.entities.restore(entity)
        assert count_rows() == before


async def test_concurrent_deletes_and_restores_leave_a_complete_entity(
    wide_memory: AsyncMemory, admin: AppConnection
) -> None:
    entity = await wide_memory.entities.upsert("thing", "a", facts={"kept": 1})

    async def attempt(number: int) -> None:
        for _ in range(3):
            try:
                if number % 2:
                    await wide_memory.entities.delete(entity)
                else:
                    await wide_memory.entities.restore(entity)
            except NotFoundError:
                pass

    await asyncio.gather(*map(attempt, range(WRITERS)))
    places = admin.execute(
        "SELECT (SELECT count(*) FROM state.entities) + (SELECT count(*) FROM state.archived_entities)"
    ).fetchone()
    assert places == (1,)
    if await wide_memory.entities.archived():
        await wide_memory.entities.restore(entity)
    assert (await wide_memory.entities.get(entity)).facts == {"kept": 1}


async def test_an_upsert_that_races_with_deletes_loses_no_fact(
    wide_memory: AsyncMemory, admin: AppConnection
) -> None:
    async def attempt(number: int) -> None:
        if number % 4:
            await wide_memory.entities.upsert("thing", "a", facts={f"fact {number}": number})
        else:
            with suppress(NotFoundError):
                await wide_memory.entities.delete("thing", "a")

    await asyncio.gather(*map(attempt, range(WRITERS)))
    facts = admin.execute(
        "SELECT attribute FROM state.entity_facts"
        " UNION ALL SELECT fact ->> 'attribute'"
        "  FROM state.archived_entities, jsonb_array_elements(snapshot -> 'facts') AS fact"
    ).fetchall()
    assert sorted(facts) == sorted((f"fact {number}",) for number in range(WRITERS) if number % 4)


BAD: list[tuple[str, Callable[[AsyncMemory], Coroutine[Any, Any, Any]]]] = [
    ("entity", lambda memory: memory.entities.delete("person")),
    ("entity", lambda memory: memory.entities.restore("person")),
    ("name", lambda memory: memory.entities.delete("person", "")),
    ("name", lambda memory: memory.entities.restore("person", "\0")),
    ("category", lambda memory: memory.entities.restore("", "Ada")),
    ("before", lambda memory: memory.entities.archived(before="x")),
    ("limit", lambda memory: memory.entities.archived(limit=0)),
]


@pytest.mark.parametrize(("field", "call"), BAD)
async def test_bad_input_is_refused(
    memory: AsyncMemory, field: str, call: Callable[[AsyncMemory], Coroutine[Any, Any, Any]]
) -> None:
    await memory.entities.upsert("person", "Ada")
    with pytest.raises(InvalidInputError, match=field):
        await call(memory)
    assert len(await memory.entities.list()) == 1


async def test_an_unknown_entity_is_not_in_the_archive(memory: AsyncMemory) -> None:
    with pytest.raises(NotFoundError, match="archive"):
        await memory.entities.restore(uuid4())
    with pytest.raises(NotFoundError, match="not in this list"):
        await memory.entities.archived(before=uuid4())
