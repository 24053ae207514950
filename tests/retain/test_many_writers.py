"""Concurrent writers: one row per text, positions without gaps, no deadlocks."""

import asyncio
import random
from collections import Counter
from typing import Any
from uuid import uuid4

import pytest

from mnemic.retain import one_transaction, pipeline
from mnemic.retain.deduplicate import Deduplicated, deduplicate_in
from mnemic.sdk.memory import AsyncMemory
from tests.fresh_tenants import OpenMemory, Rows, contents
from tests.many_writers import WRITERS
from tests.unsteady_engine import Unsteady

LONG = "".join(f"Sentence {number} of a long text. " for number in range(1000))


@pytest.mark.parametrize("content", ["the same words", LONG], ids=["short", "long"])
async def test_many_writers_of_one_text_make_one_memory(memory: AsyncMemory, content: str) -> None:
    answers = await asyncio.gather(*(memory.retain(content) for _ in range(WRITERS)))
    assert len({answer.memory_ids for answer in answers}) == 1
    assert sum(answer.stored_count for answer in answers) == 1
    (head,) = answers[0].memory_ids
    assert (await memory.memories.get(head)).reinforcement_count == WRITERS - 1
    assert await memory.memories.whole(head) == content
    assert (await memory.admin.stats()).memory_count == max(
        len(answer.stored[0].chunk_ids) for answer in answers if answer.stored
    )


@pytest.mark.parametrize("contents_differ", [False, True])
async def test_many_imports_of_one_item_make_one_memory(memory: AsyncMemory, contents_differ: bool) -> None:
    def text(writer: int) -> str:
        return LONG[: 9000 * (1 + writer % 3)] + (str(writer) if contents_differ else "")

    items = [{"content": text(writer), "external_id": "e"} for writer in range(WRITERS)]
    answers = await asyncio.gather(*(memory.retain(item, conversation="c") for item in items))
    assert len({answer.memory_ids for answer in answers}) == 1
    (stored,) = [answer.stored[0] for answer in answers if answer.stored]
    assert (await memory.admin.stats()).memory_count == len(stored.chunk_ids)
    assert await memory.memories.whole(stored.memory_id) in [item["content"] for item in items]
    assert (await memory.conversations.get("c")).turn_count == 1
    await memory.retain("next", conversation="c")
    assert (await memory.conversations.turns("c"))[-1].position == 1


async def test_many_writers_of_one_conversation_get_positions_without_gaps(memory: AsyncMemory) -> None:
    turns = [[f"{writer}: {number}" for number in range(writer % 4 + 1)] for writer in range(WRITERS)]
    await asyncio.gather(*(memory.retain(said, conversation="c") for said in turns))
    stored = await memory.conversations.turns("c")
    assert [turn.position for turn in stored] == list(range(sum(map(len, turns))))
    assert (await memory.conversations.get("c")).turn_count == len(stored)
    for said in turns:
        start = contents(stored).index(said[0])
        assert contents(stored)[start : start + len(said)] == said


async def test_concurrent_imports_of_the_same_items_leave_no_gaps_in_positions(memory: AsyncMemory) -> None:
    items = [
        {"content": f"turn {number}", "external_id": f"e-{number}", "conversation": f"c-{number % 2}"}
        for number in range(40)
    ]
    answers = await asyncio.gather(*(memory.retain(items) for _ in range(8)))
    assert sum(answer.stored_count for answer in answers) == 40
    for name in ("c-0", "c-1"):
        turns = await memory.conversations.turns(name)
        assert [turn.position for turn in turns] == list(range(20))
        assert (await memory.conversations.get(name)).turn_count == 20


async def test_large_calls_with_the_same_items_in_opposite_order_do_not_fail(memory: AsyncMemory) -> None:
    texts = [f"fact number {number}" for number in range(2000)]
    forth, back = await asyncio.gather(memory.retain_many(texts), memory.retain_many(texts[::-1]))
    assert forth.stored_count + back.stored_count == 2000
    assert forth.duplicate_count + back.duplicate_count == 2000
    assert set(forth.memory_ids) == set(back.memory_ids)
    assert (await memory.admin.stats()).memory_count == 2000


async def test_many_large_calls_in_any_order_do_not_fail(memory: AsyncMemory, rows: Rows) -> None:
    texts = [f"fact number {number}" for number in range(700)]
    shuffler = random.Random(7)
    orders = [shuffler.sample(texts, len(texts)) for _ in range(8)]
    answers = await asyncio.gather(
        *(
            memory.retain_many(
                {"content": text, "conversation": text[-1], "category": "factual"} for text in order
            )
            for order in orders
        )
    )
    assert sum(answer.stored_count for answer in answers) == 700
    for digit in "0123456789":
        turns = await memory.conversations.turns(digit)
        assert [turn.position for turn in turns] == list(range(70))
    reinforced = "SELECT sum(reinforcement_count) FROM state.memories WHERE tenant_id = %s"
    assert rows.value(reinforced, memory.tenant.id) == 7 * 700


async def test_many_writers_may_be_the_first_to_use_a_model(open_memory: OpenMemory, rows: Rows) -> None:
    engine = Unsteady(24, name=f"test:{uuid4()}")
    memory = await open_memory(embedder=engine)
    answers = await asyncio.gather(*(memory.retain(f"fact {writer}") for writer in range(WRITERS)))
    assert Counter(answer.stored_count for answer in answers) == {1: WRITERS}
    table = rows.value("SELECT table_name FROM mnemic.vector_models WHERE model = %s", engine.name)
    assert rows.counts(memory.tenant.id)[f"vectors.{table}"] == WRITERS


async def test_writing_and_erasing_at_once_succeed(memory: AsyncMemory) -> None:
    (known,) = (await memory.retain("known", owner="bob")).memory_ids

    async def retain(writer: int) -> None:
        for number in range(5):
            await memory.retain(["known", f"{writer} {number}", "other"], owner="bob", conversation="c")

    async def erase() -> None:
        for _ in range(3):
            await memory.admin.erase("bob")

    await asyncio.gather(*(retain(writer) for writer in range(8)), erase())
    await memory.admin.erase("bob")
    stats = await memory.admin.stats()
    assert (stats.memory_count, stats.conversation_count) == (0, 0)
    assert known is not None


async def test_an_item_is_stored_if_its_duplicate_is_forgotten_at_that_moment(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The duplicate is stored after the first lookup and forgotten between the insert and the second one."""
    engine = Unsteady()
    memory = await open_memory(embedder=engine)
    other = await open_memory(memory.tenant.name)
    look_again = deduplicate_in
    twins: list[Any] = []

    async def retain_twin() -> None:
        twins.extend((await other.retain("tea")).memory_ids)

    async def forget_first(transaction: Any, scope: Any, drafts: Any) -> Any:
        if drafts and twins:
            await other.memories.forget(twins.pop())
        return await look_again(transaction, scope, drafts)

    async def see_nothing(database: Any, plan: Any, batch: Any, log: Any) -> Deduplicated:
        return Deduplicated(batch.drafts)

    engine.meanwhile = retain_twin
    monkeypatch.setattr(pipeline, "write_in_one_statement", see_nothing)
    monkeypatch.setattr(one_transaction, "deduplicate_in", forget_first)
    retained = await memory.retain(["tea", "coffee"])
    assert retained.stored_count == 2
    assert sorted(contents(await memory.memories.list())) == ["coffee", "tea"]


async def test_a_cancelled_call_releases_its_positions(memory: AsyncMemory) -> None:
    await memory.retain("a", conversation="c")
    task = asyncio.create_task(
        memory.retain_many((f"turn {number}" for number in range(5000)), conversation="c")
    )
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await memory.retain("b", conversation="c")
    assert [turn.position for turn in await memory.conversations.turns("c")] == [0, 1]
