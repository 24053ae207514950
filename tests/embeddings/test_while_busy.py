"""Recall and retain work while all memories are embedded again: no errors, and every recall has results."""

import asyncio
import os
from typing import Any

import pytest

from mnemic.models.testing import HashedWords
from mnemic.recall.candidates import collection
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.recalled import Recalled
from tests.embeddings.models import Watched
from tests.fresh_tenants import OpenMemory, Rows

SLOW = pytest.mark.skipif("SLOW_TESTS" not in os.environ, reason="takes a minute: make test-slow")
SUBJECTS = ("owl", "hawk", "fox", "bear", "lynx", "wolf", "deer", "hare")


def fact(number: int) -> str:
    return f"The {SUBJECTS[number % len(SUBJECTS)]} number {number} lives in burrow {number * 7}."


@pytest.mark.parametrize("size", [1_500, pytest.param(20_000, marks=SLOW)])
async def test_recall_and_retain_go_on(
    open_memory: OpenMemory, rows: Rows, old: Watched, new: Watched, size: int
) -> None:
    before = await open_memory(embedder=old)
    await before.retain_many(fact(number) for number in range(size))
    # One process is configured for the new model, and must run the old one by its name until the switch.
    after = await open_memory(before.tenant.name, embedder=HashedWords(new.dimensions))
    over = asyncio.Event()
    recalled = [asyncio.create_task(recall_until(over, memory, size)) for memory in (before, after)]
    retained = asyncio.create_task(retain_until(over, before, size))
    done = await after.admin.reembed(wait=True)
    over.set()
    counts = [await each for each in recalled]
    added = await retained
    assert (done.model, done.next_model) == (new.name, None)
    assert all(count > 3 for count in counts)
    assert added > 3
    await after.admin.embed_backlog()
    table = rows.value("SELECT table_name FROM mnemic.vector_models WHERE model = %s", new.name)
    assert rows.counts(after.tenant.id)[f"vectors.{table}"] == size + added
    assert rows.select("SELECT FROM mnemic.vector_models WHERE model = %s", old.name) == []
    found = await after.recall(fact(3))
    assert next(iter(found)).memory.content == fact(3)


@pytest.mark.parametrize("search", ["search_lexical", "search_semantic"])
async def test_a_recall_during_which_the_model_is_switched_gives_the_results_of_the_new_model(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, old: Watched, new: Watched, search: str
) -> None:
    """The recall knows the old model's table; then the search finds another model, and the table gone."""
    before = await open_memory(embedder=old)
    await before.retain([fact(number) for number in range(40)])
    after = await open_memory(before.tenant.name, embedder=new)
    searched = getattr(collection, search)
    switched = 0

    async def switch_then_search(*arguments: Any) -> Any:
        nonlocal switched
        switched += 1
        if switched == 1:
            await after.admin.reembed(wait=True)
        return await searched(*arguments)

    monkeypatch.setattr(collection, search, switch_then_search)
    query = "Which bear lives in burrow 21 today?"
    found = await before.recall(query, explain=True)
    assert switched == 2, "the recall ran again"
    assert cosines(found) == cosines(await after.recall(query, explain=True))
    assert found.counts["vector"] > 0
    assert found.notes == ()


def cosines(found: Recalled) -> dict[str, float | None]:
    """How near each hit is, in the vectors of the model that served."""
    return {hit.memory.content: hit.explain.cosine for hit in found if hit.explain is not None}


async def recall_until(over: asyncio.Event, memory: AsyncMemory, size: int) -> int:
    """Recall one fact after the other; each is found, and by its meaning."""
    count = 0
    while not over.is_set():
        wanted = fact(count * 31 % size)
        found = await memory.recall(wanted, limit=5)
        assert wanted in [hit.memory.content for hit in found], wanted
        assert found.counts["vector"] > 0
        assert found.notes == ()
        count += 1
    return count


async def retain_until(over: asyncio.Event, memory: AsyncMemory, size: int) -> int:
    count = 0
    while not over.is_set():
        assert (await memory.retain(fact(size + count))).stored_count == 1
        count += 1
    return count
