"""Lists of entities: by prefix, category and order, with counts."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from mnemic.errors import InvalidInputError
from mnemic.knowledge import entity_lists
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.entity import ENTITY_ORDERS, Entity, EntityCounts
from mnemic.types.identity import new_id
from tests.conftest import AppConnection
from tests.knowledge.conftest import WriteMemories


def names(entities: Sequence[Entity]) -> list[str]:
    return [entity.name for entity in entities]


async def fill(memory: AsyncMemory) -> None:
    """Four entities; texts that mention Bo most and Ann once."""
    ann = await memory.entities.upsert("person", "Ann", salience=0.9, facts={"lives in": "Rome"})
    await memory.entities.upsert("person", "Bo", salience=0.2, aliases=["Anton"])
    await memory.entities.upsert("place", "Rome", salience=0.6)
    await memory.entities.upsert("place", "Äpfelhof", salience=0.7)
    await memory.entities.relate(ann, ("place", "Rome"), "lives in")
    for text in ("Bo sings.", "Bo swims.", "Ann meets Bo.", "Rome is old.", "Rome is large."):
        await memory.retain(text)


async def test_each_order_lists_all_entities(memory: AsyncMemory) -> None:
    await fill(memory)
    orders: dict[Any, list[str]] = {
        "newest": ["Äpfelhof", "Rome", "Bo", "Ann"],
        "salience": ["Ann", "Äpfelhof", "Rome", "Bo"],
        "mentions": ["Bo", "Rome", "Ann", "Äpfelhof"],
        "name": ["Ann", "Bo", "Rome", "Äpfelhof"],
    }
    assert set(orders) == set(ENTITY_ORDERS)
    for order, expected in orders.items():
        assert names(await memory.entities.list(order=order)) == expected
        pages = [await memory.entities.list(order=order, limit=3)]
        pages.append(await memory.entities.list(order=order, limit=3, before=pages[0][-1].entity_id))
        assert [names(page) for page in pages] == [expected[:3], expected[3:]]
        places = [name for name in expected if name in ("Rome", "Äpfelhof")]
        assert names(await memory.entities.list(order=order, category="Place")) == places
        assert await memory.entities.list(order=order, owner="bob") == []


async def test_a_prefix_finds_names_and_aliases_in_any_case(memory: AsyncMemory) -> None:
    await fill(memory)
    for prefix, expected in {
        "an": ["Ann", "Bo"],
        "AN": ["Ann", "Bo"],
        "ann": ["Ann"],
        "äp": ["Äpfelhof"],
        "r": ["Rome"],
        "ome": [],
        "%": [],
        "_nn": [],
    }.items():
        for order in ENTITY_ORDERS:
            found = await memory.entities.list(prefix=prefix, order=order)
            assert sorted(names(found)) == expected, (prefix, order)
        counted = await memory.entities.count(prefix=prefix)
        assert (counted.entity_count, counted.is_complete) == (len(expected), True)
    assert names(await memory.entities.list(prefix="an", category="person", order="mentions")) == [
        "Bo",
        "Ann",
    ]
    assert await memory.entities.list(prefix="an", category="place") == []
    assert await memory.entities.list(prefix="an", owner="bob") == []


async def test_counts_are_given_when_asked_for(memory: AsyncMemory) -> None:
    await fill(memory)
    counts = {entity.name: entity.counts for entity in await memory.entities.list(with_counts=True)}
    assert counts == {
        "Ann": EntityCounts(1, 1, 1),
        "Bo": EntityCounts(3, 0, 0),
        "Rome": EntityCounts(2, 0, 1),
        "Äpfelhof": EntityCounts(0, 0, 0),
    }
    assert {entity.counts for entity in await memory.entities.list()} == {None}
    totals = await memory.entities.count()
    assert (totals.entity_count, totals.categories) == (4, {"person": 2, "place": 2})
    assert (await memory.entities.count(category="Person")).categories == {"person": 2}
    assert (await memory.entities.count(owner="bob")).entity_count == 0


async def test_only_so_many_entities_are_compared(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(memory)
    monkeypatch.setattr(entity_lists, "ENTITIES_RANKED_MAX", 2)
    monkeypatch.setattr(entity_lists, "ENTITIES_COUNTED_MAX", 2)
    assert names(await memory.entities.list(order="mentions")) == ["Ann", "Äpfelhof"]
    assert names(await memory.entities.list(prefix="an", order="mentions")) == ["Bo", "Ann"]
    totals = await memory.entities.count()
    assert (totals.entity_count, totals.is_complete) == (2, False)


async def test_bad_arguments_are_refused(memory: AsyncMemory) -> None:
    bad: list[dict[str, Any]] = [
        {"order": "age"},
        {"order": None},
        {"prefix": ""},
        {"prefix": "a\0"},
        {"prefix": 7},
        {"prefix": "a" * 300},
        {"category": "c" * 65},
        {"with_counts": "yes"},
        {"limit": 0},
        {"before": "x"},
    ]
    for arguments in bad:
        with pytest.raises(InvalidInputError) as raised:
            await memory.entities.list(**arguments)
        assert next(iter(arguments)) in str(raised.value)
    assert await memory.entities.list(order="salience", before=new_id()) == []
    assert await memory.entities.list(order="name", before=new_id()) == []


async def test_mentioning_memories_are_returned_as_records(
    memory: AsyncMemory, write_memories: WriteMemories, admin: AppConnection
) -> None:
    ann = await memory.entities.upsert("person", "Ann")
    ids = [(await memory.retain(text)).memory_ids[0] for text in ("Ann sings.", "Ann swims.", "Ann reads.")]
    records = await memory.entities.mentioning(ann)
    assert [record.memory_id for record in records] == ids[::-1] == await memory.entities.mentions(ann)
    assert records[0] == await memory.memories.get(ids[2])
    assert [r.memory_id for r in await memory.entities.mentioning(ann, before=ids[2], limit=1)] == [ids[1]]
    await memory.memories.forget(ids[1])
    assert [r.memory_id for r in await memory.entities.mentioning(ann)] == [ids[2], ids[0]]
    assert len(await memory.entities.mentioning(ann, include_forgotten=True)) == 3
    assert len(await memory.entities.mentions(ann)) == 3


async def test_mentions_as_of_a_time_are_those_of_the_texts_of_that_time(memory: AsyncMemory) -> None:
    ann = await memory.entities.upsert("person", "Ann", aliases=["安"])
    sings, swims = (await memory.retain(["Ann sings.", "Bo swims."])).memory_ids
    (chinese,) = (await memory.retain("安 writes.")).memory_ids
    (archived,) = (await memory.retain("Ann cooks.")).memory_ids
    earlier = datetime.now(UTC)
    await memory.memories.update(sings, content="Bo sings.")
    await memory.memories.update(swims, content="Ann swims.")
    await memory.memories.update(chinese, content="Bo writes.")
    await memory.memories.forget(archived)
    (reads,) = (await memory.retain("Ann reads.")).memory_ids

    async def found(**fields: Any) -> list[UUID]:
        return [record.memory_id for record in await memory.entities.mentioning(ann, **fields)]

    assert await found() == [reads, swims]
    assert await found(as_of=datetime.now(UTC)) == [reads, swims]
    assert await found(as_of=earlier) == [archived, chinese, sings]
    assert await found(as_of=earlier, limit=1) == [archived]
    assert await found(as_of=earlier, before=archived) == [chinese, sings]
    assert await found(as_of="2000-01-01") == []
    (record,) = await memory.entities.mentioning(ann, as_of=earlier, before=chinese)
    assert (record.content, record.version) == ("Ann sings.", 1)
    with pytest.raises(InvalidInputError, match="as_of"):
        await memory.entities.mentioning(ann, as_of="yesterday")
