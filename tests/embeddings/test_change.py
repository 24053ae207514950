"""Changing the embedding model: the old one serves until the new one has all vectors; then it is removed."""

import pytest

from mnemic.embeddings.model_change import begin_change, complete_change, read_change
from mnemic.errors import ConflictError, EmbeddingError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.embedding import ModelChange
from tests.embeddings.models import Watched
from tests.fresh_tenants import OpenMemory, Rows, contents, vector_of
from tests.opened import core_of
from tests.unsteady_engine import Unsteady

TABLES = "SELECT count(*) FROM mnemic.vector_models WHERE model = %s"
FORCED = """
    SELECT relforcerowsecurity FROM pg_class JOIN mnemic.vector_models ON relname = table_name
    WHERE model = %s
"""
ROWS = "SELECT count(*) FROM vectors.{} WHERE tenant_id = %s"


async def change(memory: AsyncMemory) -> bool:
    """Change to the model that the memory was opened with, all of it."""
    await begin_change(core_of(memory))
    return await complete_change(core_of(memory), core_of(memory).embedder.name)


async def state(memory: AsyncMemory) -> ModelChange:
    return await read_change(core_of(memory).storage.tenant_database)


def vector_count(rows: Rows, model: str, memory: AsyncMemory) -> int | None:
    """How many vectors of a model a tenant has; None if the model has no table."""
    tables = rows.select("SELECT table_name FROM mnemic.vector_models WHERE model = %s", model)
    if not tables:
        return None
    return int(str(rows.value(ROWS.format(tables[0][0]), memory.tenant.id)))


async def test_all_memories_are_embedded_again_and_the_old_table_is_dropped(
    open_memory: OpenMemory, rows: Rows, old: Watched, new: Watched
) -> None:
    before = await open_memory(embedder=old)
    await before.retain_many(f"fact number {number}" for number in range(700))
    (forgotten,) = (await before.retain("Something to be forgotten.")).memory_ids
    await before.memories.forget(forgotten)
    after = await open_memory(before.tenant.name, embedder=new)
    assert next(iter(await after.recall("fact number 77"))).memory.content == "fact number 77"
    assert (await state(after)).model == old.name
    assert await change(after)
    assert vector_count(rows, old.name, after) is None
    assert vector_count(rows, new.name, after) == 701
    assert await state(after) == ModelChange(new.name, None, 701, 0, 0, None)
    for memory in (before, after):
        assert contents([hit.memory for hit in await memory.recall("fact number 77")])[0] == "fact number 77"
        assert (await memory.retain(f"A late fact of {memory.tenant.id}.")).awaiting_embedding_count in (0, 1)
    # The process with the old model learnt from the database that another one serves.
    assert (await before.retain("The last fact.")).awaiting_embedding_count == 0
    assert await after.admin.embed_backlog() <= 1
    assert vector_count(rows, new.name, after) == vector_total(rows, after)


def vector_total(rows: Rows, memory: AsyncMemory) -> int:
    return int(str(rows.value("SELECT count(*) FROM state.memories WHERE tenant_id = %s", memory.tenant.id)))


async def test_an_interrupted_change_resumes(open_memory: OpenMemory, old: Watched, new: Watched) -> None:
    memory = await open_memory(embedder=old)
    await memory.retain_many(f"fact number {number}" for number in range(1_000))
    memory = await open_memory(memory.tenant.name, embedder=new)
    await begin_change(core_of(memory))

    def break_off(done: int, total: int) -> None:
        if done >= 512:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await complete_change(core_of(memory), new.name, break_off)
    now = await state(memory)
    assert (now.model, now.next_model, now.waiting_count) == (old.name, new.name, 1_000 - 512)
    embedded = new.count
    assert await complete_change(core_of(memory), new.name)
    assert new.count - embedded == 1_000 - 512


async def test_memories_changed_meanwhile_are_embedded_with_their_new_text(
    open_memory: OpenMemory, rows: Rows, old: Watched, new: Watched
) -> None:
    before = await open_memory(embedder=old)
    first, second, third = (await before.retain(["one fact", "second fact", "third fact"])).memory_ids
    after = await open_memory(before.tenant.name, embedder=new)
    await begin_change(core_of(after))
    (fourth,) = (await before.retain("a fact from in between")).memory_ids
    await before.memories.update(first, content="one fact, changed")

    async def meddle() -> None:
        await before.memories.update(second, content="second fact, changed")
        await before.admin.erase("bob")

    new.meanwhile = meddle
    await before.retain("something of bob's", owner="bob")
    assert await complete_change(core_of(after), new.name)
    other = await open_memory(embedder=new)
    wanted = ["one fact, changed", "second fact, changed", "third fact", "a fact from in between"]
    expected = (await other.retain(wanted)).memory_ids
    for memory_id, like in zip((first, second, third, fourth), expected, strict=True):
        assert vector_of(rows, memory_id, new.name) == vector_of(rows, like, new.name)


async def test_a_text_that_the_new_model_refuses_does_not_block_the_change(
    open_memory: OpenMemory, rows: Rows, old: Watched, new: Watched
) -> None:
    memory = await open_memory(embedder=old)
    await memory.retain_many(f"{'bad' if number == 300 else 'fact'} {number}" for number in range(600))
    memory = await open_memory(memory.tenant.name, embedder=new)
    new.is_picky = True
    assert await change(memory)
    assert vector_count(rows, new.name, memory) == 599
    refused = (
        "SELECT last_error LIKE '%%failed: ValueError%%' FROM queue.embedding_backlog WHERE tenant_id = %s"
    )
    assert rows.select(refused, memory.tenant.id) == [(True,)]
    assert (await memory.admin.stats()).awaiting_embedding_count == 0


async def test_a_model_that_is_down_ends_the_attempt_and_loses_nothing(
    open_memory: OpenMemory, old: Watched, new: Watched
) -> None:
    memory = await open_memory(embedder=old)
    await memory.retain("one fact")
    memory = await open_memory(memory.tenant.name, embedder=new)
    await begin_change(core_of(memory))
    new.failing = True
    with pytest.raises(EmbeddingError):
        await complete_change(core_of(memory), new.name)
    assert contents([hit.memory for hit in await memory.recall("one fact")]) == ["one fact"]
    with pytest.raises(EmbeddingError):
        await memory.admin.reembed()
    new.failing = False
    assert await complete_change(core_of(memory), new.name)


async def test_a_change_can_be_called_off_and_leaves_nothing(
    open_memory: OpenMemory, rows: Rows, old: Watched, new: Watched
) -> None:
    before = await open_memory(embedder=old)
    await before.retain_many(f"fact number {number}" for number in range(600))
    after = await open_memory(before.tenant.name, embedder=new)
    begun = await after.admin.reembed()
    assert (begun.model, begun.next_model, begun.job_id is not None) == (old.name, new.name, True)
    assert (await after.admin.reembed()).job_id == begun.job_id

    async def call_off() -> None:
        assert (await before.admin.reembed()).next_model is None

    def report(done: int, total: int) -> None:
        if done == 256:
            new.meanwhile = call_off

    assert not await complete_change(core_of(after), new.name, report)
    assert vector_count(rows, old.name, before) == 600
    assert vector_count(rows, new.name, before) is None
    assert "queue.reembedding" not in rows.counts(before.tenant.id)


async def test_a_table_stays_as_long_as_another_tenant_uses_it(
    open_memory: OpenMemory, rows: Rows, old: Watched, new: Watched
) -> None:
    one, two = await open_memory(embedder=old), await open_memory(embedder=old)
    for memory in (one, two):
        await memory.retain("one fact")
    assert await change(await open_memory(one.tenant.name, embedder=new))
    assert (vector_count(rows, old.name, one), vector_count(rows, old.name, two)) == (0, 1)
    async with core_of(one).storage.tenant_database.transaction() as transaction:
        assert (await transaction.one("reembedding.drop", {"model": old.name}))["is_gone"] is False
    assert contents([hit.memory for hit in await two.recall("one fact")]) == ["one fact"]
    assert await change(await open_memory(two.tenant.name, embedder=new))
    assert rows.value(TABLES, old.name) == 0


async def test_a_table_with_vectors_of_a_tenant_from_before_is_not_dropped(
    open_memory: OpenMemory, rows: Rows, old: Watched, new: Watched
) -> None:
    one, two = await open_memory(embedder=old), await open_memory(embedder=old)
    for memory in (one, two):
        await memory.retain("one fact")
    rows.run(f"DELETE FROM vectors.tenant_models WHERE tenant_id = '{two.tenant.id}'")
    assert await change(await open_memory(one.tenant.name, embedder=new))
    assert vector_count(rows, old.name, two) == 1
    assert rows.value(FORCED, old.name) is True, "the wall stands again"


async def test_existing_vectors_serve_and_missing_ones_are_embedded(
    open_memory: OpenMemory, rows: Rows, old: Watched, new: Watched
) -> None:
    before = await open_memory(embedder=old)
    await before.retain(["one fact", "two facts"])
    # As an earlier version left it: vectors of two models, and nothing that says which one serves.
    forget = f"DELETE FROM vectors.tenant_models WHERE tenant_id = '{before.tenant.id}'"
    table = rows.value("SELECT table_name FROM mnemic.vector_models WHERE model = %s", old.name)
    (third,) = (await before.retain("three facts")).memory_ids
    rows.run(forget)
    rows.run(f"DELETE FROM vectors.{table} WHERE memory_id = '{third}'")
    later = await open_memory(before.tenant.name, embedder=new)
    found = await later.recall("one fact")
    assert contents([hit.memory for hit in found])[0] == "one fact"
    assert found.counts["vector"] == 2
    assert (await state(later)).model == old.name
    assert await later.admin.embed_backlog() == 1
    assert vector_count(rows, old.name, later) == 3


async def test_the_model_of_the_first_vectors_serves(open_memory: OpenMemory, old: Watched) -> None:
    memory = await open_memory(embedder=old)
    assert await state(memory) == ModelChange(None, None, 0, 0, 0, None)
    assert (await memory.admin.reembed()).model == old.name
    await memory.retain("one fact")
    assert await state(memory) == ModelChange(old.name, None, 1, 0, 0, None)
    other = await open_memory(memory.tenant.name, embedder=Unsteady(32, name=old.name))
    with pytest.raises(ConflictError, match="32 dimensions, but its vectors here have"):
        await other.admin.reembed()


async def test_writers_that_never_pause_do_not_prevent_the_switch(
    open_memory: OpenMemory, rows: Rows, old: Watched, new: Watched
) -> None:
    memory = await open_memory(embedder=old)
    await memory.retain_many(f"fact number {number}" for number in range(600))
    busy = await open_memory(memory.tenant.name, embedder=old)
    memory = await open_memory(memory.tenant.name, embedder=new)
    await begin_change(core_of(memory))
    written = 0

    async def write() -> None:
        nonlocal written
        written += 1
        assert written < 100, "it ends some time"
        await busy.retain(f"busy fact {written}")

    new.beside = write
    assert await complete_change(core_of(memory), new.name)
    new.beside = None
    assert await memory.admin.embed_backlog() == 1
    assert vector_count(rows, new.name, memory) == 600 + written
