"""A failing embedder loses no text, vectors of models never mix, and missing vectors are embedded later."""

from collections.abc import Sequence
from uuid import uuid4

import psycopg
import pytest

from mnemic.errors import ConflictError, EmbeddingError
from mnemic.models.engine import FloatArray, InputType
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.fresh_tenants import OpenMemory, Rows, contents, vector_of
from tests.unsteady_engine import Unsteady


class Picky(Unsteady):
    """Refuses every batch in which a text has a bad word."""

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> FloatArray:
        if any("bad" in text for text in texts):
            raise ValueError("no bad words")
        return await super().embed(texts, input_type=input_type)


BACKLOG = "SELECT last_error, attempts FROM queue.embedding_backlog WHERE memory_id = %s"


async def test_a_failing_embedder_loses_nothing(open_memory: OpenMemory, rows: Rows) -> None:
    engine = Unsteady(failing=True)
    memory = await open_memory(embedder=engine)
    retained = await memory.retain(["Alice lives in Berlin.", "Bob lives in Bonn."], conversation="c")
    assert (retained.stored_count, retained.awaiting_embedding_count) == (2, 2)
    first, second = retained.memory_ids
    assert rows.select(BACKLOG, first) == [("The test model is set to fail.", 1)]
    assert vector_of(rows, first) is None
    found = "SELECT words @@ plainto_tsquery('english', 'berlin') FROM state.memories WHERE memory_id = %s"
    assert [rows.value(found, memory_id) for memory_id in (first, second)] == [True, False]
    with pytest.raises(EmbeddingError):
        await memory.admin.embed_backlog()
    engine.failing = False
    assert await memory.admin.embed_backlog() == 2
    assert await memory.admin.embed_backlog() == 0
    assert vector_of(rows, first) is not None
    assert (await memory.admin.stats()).awaiting_embedding_count == 0


async def test_vectors_embedded_later_equal_vectors_embedded_at_once(
    open_memory: OpenMemory, rows: Rows
) -> None:
    item = {"content": "Alice lives in Berlin.", "name": "Carol"}
    steady, unsteady = await open_memory(), await open_memory(embedder=Unsteady(failing=True))
    (wanted,) = (await steady.retain(item)).memory_ids
    (late,) = (await unsteady.retain(item)).memory_ids
    again = await open_memory(unsteady.tenant.name)
    assert await again.admin.embed_backlog() == 1
    assert vector_of(rows, late) == vector_of(rows, wanted)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a\0b"),
        RuntimeError("\ud800 broken"),
        OSError("x" * 100_000),
        EmbeddingError(""),
        TimeoutError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_however_an_embedder_fails_the_text_is_stored(
    open_memory: OpenMemory, rows: Rows, error: Exception
) -> None:
    engine = Unsteady()
    engine.error = error
    memory = await open_memory(embedder=engine)
    retained = await memory.retain("Alice lives in Berlin.")
    assert (retained.stored_count, retained.awaiting_embedding_count) == (1, 1)
    ((said, _),) = rows.select(BACKLOG, retained.memory_ids[0])
    assert len(str(said)) <= 1024
    await memory.memories.update(retained.memory_ids[0], content="Alice lives in Bonn.")
    assert (await memory.admin.stats()).awaiting_embedding_count == 1


async def test_batches_embedded_before_a_failure_keep_their_vectors(
    open_memory: OpenMemory, rows: Rows
) -> None:
    engine = Unsteady()
    memory = await open_memory(embedder=engine)

    def break_after_one_batch(count: int) -> None:
        engine.failing = count >= 512

    retained = await memory.retain_many(
        (f"fact {number}" for number in range(1200)), progress=break_after_one_batch
    )
    assert (retained.stored_count, retained.awaiting_embedding_count) == (1200, 1200 - 512)
    engine.failing = False
    assert await memory.admin.embed_backlog() == 1200 - 512
    assert rows.counts(memory.tenant.id)[f"vectors.{table_of(rows, engine.name)}"] == 1200


async def test_a_memory_changed_while_the_backlog_is_embedded_keeps_no_old_vector(
    open_memory: OpenMemory, rows: Rows
) -> None:
    engine = Unsteady(failing=True)
    memory = await open_memory(embedder=engine)
    (memory_id,) = (await memory.retain("old words")).memory_ids

    async def change_while_it_fails() -> None:
        engine.failing = True
        await memory.memories.update(memory_id, content="new words")
        engine.failing = False

    engine.failing = False
    engine.meanwhile = change_while_it_fails
    assert await memory.admin.embed_backlog() == 1
    other = await open_memory()
    (wanted,) = (await other.retain("new words")).memory_ids
    assert vector_of(rows, memory_id) == vector_of(rows, wanted)


async def test_an_owner_may_be_erased_while_the_backlog_is_embedded(open_memory: OpenMemory) -> None:
    engine = Unsteady(failing=True)
    memory = await open_memory(embedder=engine)
    await memory.retain(["one", "two"], owner="bob")
    await memory.retain("three")
    engine.failing = False

    async def erase() -> None:
        await memory.admin.erase("bob")

    engine.meanwhile = erase
    assert await memory.admin.embed_backlog() == 1


async def test_the_serving_model_embeds_whatever_is_configured(open_memory: OpenMemory, rows: Rows) -> None:
    small, large = Unsteady(16), Unsteady(32)
    first = await open_memory(embedder=small)
    second = await open_memory(first.tenant.name, embedder=large)
    (one,) = (await first.retain("one")).memory_ids
    (two,) = (await second.retain("two")).memory_ids
    await second.memories.update(one, content="one, embedded anew")
    for memory_id in (one, two):
        assert vector_of(rows, memory_id, small.name) is not None
        assert vector_of(rows, memory_id, large.name) is None
    assert next(iter(await second.recall("two"))).memory.memory_id == two


async def test_texts_are_stored_while_the_serving_model_cannot_be_opened(open_memory: OpenMemory) -> None:
    first = await open_memory(embedder=Unsteady(16, name=f"mine:{uuid4()}"))
    await first.retain("Alice lives in Berlin.")
    second = await open_memory(first.tenant.name)
    assert (await second.retain("Bob lives in Bonn.")).awaiting_embedding_count == 1
    found = await second.recall("Where does Bob live?")
    assert contents([hit.memory for hit in found])[0] == "Bob lives in Bonn."
    assert "cannot be opened" in " ".join(found.notes)
    assert await first.admin.embed_backlog() == 1


async def test_a_text_that_is_always_refused_does_not_block_the_backlog(
    open_memory: OpenMemory, rows: Rows
) -> None:
    engine = Picky(failing=True)
    memory = await open_memory(embedder=engine)
    retained = await memory.retain_many(
        f"{'bad' if number == 300 else 'fact'} {number}" for number in range(600)
    )
    engine.failing = False
    assert await memory.admin.embed_backlog() == 599
    assert (await memory.admin.stats()).awaiting_embedding_count == 0
    assert await memory.admin.embed_backlog() == 0
    ((error, attempts),) = rows.select(BACKLOG, retained.memory_ids[300])
    assert (attempts, "failed: ValueError" in str(error)) == (3, True)


async def test_one_backlog_job_serves_many_calls(open_memory: OpenMemory, rows: Rows) -> None:
    engine = Unsteady(failing=True)
    memory = await open_memory(embedder=engine)
    for number in range(3):
        await memory.retain(f"fact {number}")
    jobs = rows.select("SELECT type, state FROM queue.jobs WHERE tenant_id = %s", memory.tenant.id)
    assert jobs == [("embeddings.backlog", "waiting")]


@pytest.mark.usefixtures("no_comparisons")
async def test_another_dimension_under_the_same_name_is_a_conflict_and_nothing_is_written(
    open_memory: OpenMemory, rows: Rows
) -> None:
    name = f"test:{uuid4()}"
    first = await open_memory(embedder=Unsteady(16, name=name))
    (memory_id,) = (await first.retain("one")).memory_ids
    second = await open_memory(first.tenant.name, embedder=Unsteady(32, name=name))
    before = rows.counts(first.tenant.id)
    for call in (
        second.retain(["two", "three"], conversation="c"),
        second.retain_many(f"fact {number}" for number in range(1000)),
        second.memories.update(memory_id, content="other words"),
        second.memories.supersede(memory_id, "other words"),
        second.documents.put("document", "text"),
    ):
        with pytest.raises(ConflictError, match="32 dimensions, but its vectors here have 16"):
            await call
        assert rows.counts(first.tenant.id) == before
    assert contents(await first.memories.list()) == ["one"]


async def test_a_vectors_table_takes_no_other_dimension(
    memory: AsyncMemory, rows: Rows, superuser: AppConnection
) -> None:
    (memory_id,) = (await memory.retain("one")).memory_ids
    table = table_of(rows, "test:hash-64")
    with pytest.raises(psycopg.DataError, match="expected 64 dimensions"):
        superuser.execute(
            f"UPDATE vectors.{table} SET embedding = '[1,2,3]' WHERE memory_id = %s".encode(), [memory_id]
        )


async def test_backlogs_belong_to_tenants(open_memory: OpenMemory) -> None:
    engine = Unsteady(failing=True)
    mine, other = await open_memory(embedder=engine), await open_memory(embedder=engine)
    await mine.retain("mine")
    await other.retain("other")
    engine.failing = False
    assert await mine.admin.embed_backlog() == 1
    assert (await other.admin.stats()).awaiting_embedding_count == 1


def table_of(rows: Rows, model: str) -> str:
    return str(rows.value("SELECT table_name FROM mnemic.vector_models WHERE model = %s", model))
