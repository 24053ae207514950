"""Long calls and imports look duplicates up before embedding; short calls do not."""

from collections.abc import Sequence

import pytest

from mnemic.models.engine import FloatArray, InputType
from mnemic.retain.deduplicate import SHORT_CALL_MAX_CHARACTERS
from mnemic.sdk.memory import AsyncMemory
from tests.fresh_tenants import OpenMemory, Rows, vector_of
from tests.unsteady_engine import Unsteady

MANY_WORDS = "Many words. " * (SHORT_CALL_MAX_CHARACTERS // 12 + 1)


class Counting(Unsteady):
    """Counts the texts that it has embedded."""

    count = 0

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> FloatArray:
        self.count += len(texts)
        return await super().embed(texts, input_type=input_type)


@pytest.mark.parametrize("retained_before", [False, True])
async def test_a_short_call_is_one_transaction(
    memory: AsyncMemory, transactions: list[object], retained_before: bool
) -> None:
    if retained_before:
        await memory.retain("Alice likes tea.")
        transactions.clear()
    await memory.retain("Alice likes tea.")
    # The first call of a process asks, once, which model serves.
    assert len(transactions) == 1 + (not retained_before)


@pytest.mark.parametrize(
    ("item", "asks_first"),
    [
        ({"content": "A few words."}, False),
        ({"content": "A few words.", "external_id": "e"}, True),
        ({"content": MANY_WORDS}, True),
        ({"content": MANY_WORDS[:SHORT_CALL_MAX_CHARACTERS].strip()}, False),
    ],
    ids=["few", "imported", "many", "just few enough"],
)
async def test_long_and_imported_items_are_looked_up_before_they_are_embedded(
    open_memory: OpenMemory, item: dict[str, str], asks_first: bool
) -> None:
    engine = Counting()
    memory = await open_memory(embedder=engine)
    first = await memory.retain(item)
    embedded_once = engine.count
    again = await memory.retain(item)
    assert (again.duplicate_count, again.memory_ids) == (1, first.memory_ids)
    assert (engine.count == embedded_once) is asks_first


async def test_duplicates_in_a_short_call_are_found_when_it_is_stored(
    memory: AsyncMemory, rows: Rows
) -> None:
    (tea,) = (await memory.retain("tea")).memory_ids
    before = vector_of(rows, tea)
    again = await memory.retain(["coffee", "tea", "milk", "tea"])
    assert [item.index for item in again.stored] == [0, 2]
    assert [(item.index, item.duplicate_of) for item in again.duplicates] == [(1, tea), (3, tea)]
    assert (await memory.memories.get(tea)).reinforcement_count == 2
    assert vector_of(rows, tea) == before
    assert all(vector_of(rows, item.memory_id) is not None for item in again.stored)


async def test_a_short_call_links_the_entities_that_it_mentions(memory: AsyncMemory) -> None:
    await memory.entities.upsert("person", "Ada")
    about_ada, about_nobody = (await memory.retain(["Ada came.", "Nobody came."])).memory_ids
    assert [entity.name for entity in await memory.entities.mentioned(about_ada)] == ["Ada"]
    assert await memory.entities.mentioned(about_nobody) == []
