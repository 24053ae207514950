"""Ingesting documents: found by words and by meaning, once each; what did not change is not done again."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mnemic.documents.ingestion import INGEST_BATCH, ingest_document
from mnemic.documents.reading.chunks import chunks_of
from mnemic.documents.reading.source import read_source
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.document import Ingestion
from mnemic.types.memory import MemoryRecord
from tests.documents.counting_engine import Counting
from tests.documents.test_reading import pdf
from tests.documents.texts import paragraphs
from tests.fresh_tenants import OpenMemory, Rows, contents, vector_of
from tests.opened import core_of

GUIDE = """# Guide

Welcome to the guide of the observatory.

## Telescopes

The large telescope stands on the northern hill. It was built in 1931.

## Visitors

Visitors come on Sundays. The gate opens at nine.
"""


@pytest.fixture
def engine() -> Counting:
    return Counting()


@pytest.fixture
async def counted(open_memory: OpenMemory, engine: Counting) -> AsyncMemory:
    """A memory that keeps what it embeds."""
    return await open_memory(embedder=engine)


async def ingest(memory: AsyncMemory, name: str, text: str, **options: Any) -> Ingestion:
    """File a document and do its job here."""
    filed = await memory.documents.ingest(name, text, **options)
    await ingest_document(core_of(memory), filed.document.document_id)
    return await memory.documents.status(name)


async def active(memory: AsyncMemory) -> list[MemoryRecord]:
    records: list[MemoryRecord] = []
    while page := await memory.memories.list(before=records[-1].memory_id if records else None, limit=500):
        records += page
    return records[::-1]


async def test_a_document_is_found_by_words_and_meaning_and_says_where(counted: AsyncMemory) -> None:
    filed = await counted.documents.ingest(
        "guide.md", GUIDE, tags=["Docs"], metadata={"language": "en"}, channel="trips"
    )
    assert (filed.is_complete, filed.chunk_count, filed.media_type) == (False, 0, "text/markdown")
    assert (filed.document.title, filed.document.whole_id) == ("Guide", None)
    done = await ingest_document(core_of(counted), filed.document.document_id)
    assert done == {"chunk_count": 3, "new_count": 3, "reembedded_count": 0, "gone_count": 0}
    status = await counted.documents.status("guide.md")
    assert (status.is_complete, status.chunk_count) == (True, 3)

    found = await counted.recall("When does the gate open for visitors?", channel="trips")
    hit = found[0].memory
    assert f"[{hit.created_at:%Y-%m-%d}] guide.md › Guide › Visitors: ## Visitors" in found.text
    assert "The gate opens at nine." in hit.content
    assert (hit.category, hit.source, hit.tags, hit.channel) == ("reference", "imported", ("docs",), "trips")
    assert hit.metadata == {"language": "en", "document": "guide.md", "headings": ["Guide", "Visitors"]}
    assert hit.evidence == (f"document:{filed.document.document_id}",)
    (chunk,) = await counted.documents.chunks("guide.md", memory_id=hit.memory_id)
    text = await counted.documents.text("guide.md")
    assert text == GUIDE
    assert text[chunk.start_character : chunk.end_character] == hit.content
    assert (chunk.chunk_index, chunk.headings, chunk.page) == (2, ("Guide", "Visitors"), None)


async def test_a_chunk_is_embedded_with_what_stands_before_it(counted: AsyncMemory, engine: Counting) -> None:
    await ingest(counted, "guide.md", GUIDE)
    assert engine.texts[2].startswith("Guide › Visitors\n## Visitors")


async def test_no_passage_is_recalled_twice(counted: AsyncMemory) -> None:
    text = "\n\n".join(paragraphs(20_000))
    await ingest(counted, "long.txt", text)
    found = await counted.recall(text[5_000:5_200], limit=50, refuse_below=0)
    words = "".join(contents([hit.memory for hit in found]))
    assert words.count(text[5_050:5_090]) <= 1
    records = await active(counted)
    assert "".join("".join(contents(records)).split()) == "".join(text.split())


@pytest.mark.usefixtures("no_comparisons")
async def test_the_same_document_again_does_nothing(
    counted: AsyncMemory, engine: Counting, rows: Rows
) -> None:
    first = await ingest(counted, "guide.md", GUIDE)
    before, embedded = rows.counts(counted.tenant.id), len(engine.texts)
    again = await counted.documents.ingest("guide.md", GUIDE)
    assert again == first
    assert await counted.documents.ingest("guide.md", data=GUIDE.encode(), wait=True) == first
    assert rows.counts(counted.tenant.id) == before
    assert len(engine.texts) == embedded


async def test_a_changed_paragraph_has_only_its_chunks_embedded(
    counted: AsyncMemory, engine: Counting
) -> None:
    parts = paragraphs(200_000)
    await ingest(counted, "long.txt", "\n\n".join(parts))
    before = {record.content: record.memory_id for record in await active(counted)}
    engine.texts.clear()
    parts[100] = "The zebra is new here."
    status = await ingest(counted, "long.txt", "\n\n".join(parts))
    after = {record.content: record.memory_id for record in await active(counted)}
    assert status.document.version == 2
    assert len(engine.texts) <= 4
    assert any("The zebra is new here." in text for text in engine.texts)
    kept = before.keys() & after.keys()
    assert len(kept) >= len(before) - 3
    assert all(before[content] == after[content] for content in kept)
    wanted = [chunk.content for chunk in chunks_of(read_source("\n\n".join(parts), "text/plain"))]
    listed = await all_chunks(counted, "long.txt")
    text = "\n\n".join(parts)
    assert [text[chunk.start_character : chunk.end_character] for chunk in listed] == wanted
    assert sorted(after) == sorted(wanted)


async def all_chunks(memory: AsyncMemory, name: str) -> list[Any]:
    chunks: list[Any] = []
    while page := await memory.documents.chunks(name, after=len(chunks) - 1, limit=500):
        chunks += page
    return chunks


async def test_what_moves_is_not_embedded_and_makes_no_versions(
    counted: AsyncMemory, engine: Counting, rows: Rows
) -> None:
    parts = paragraphs(30_000)
    await ingest(counted, "long.txt", "\n\n".join(parts))
    engine.texts.clear()
    await ingest(counted, "long.txt", "\n\n".join([parts[-1] + " Moved.", *parts]))
    assert len(engine.texts) <= 4
    versions = rows.counts(counted.tenant.id).get("state.memory_versions", 0)
    assert versions <= 2, "only what is gone was changed"


async def test_what_stands_behind_another_heading_is_embedded_anew_and_keeps_its_id(
    counted: AsyncMemory, engine: Counting, rows: Rows
) -> None:
    await ingest(counted, "guide.html", "<h1>Cats</h1><p>Sleepy.</p><h2>Food</h2><p>They eat at nine.</p>")
    (before, after_name) = await active(counted)
    old = vector_of(rows, after_name.memory_id)
    engine.texts.clear()
    await ingest(counted, "guide.html", "<h1>Dogs</h1><p>Dogs bark.</p><h2>Food</h2><p>They eat at nine.</p>")
    kept = await counted.memories.get(after_name.memory_id)
    assert (kept.content, kept.metadata["headings"]) == ("Food\n\nThey eat at nine.", ["Dogs", "Food"])
    assert engine.texts == ["Dogs\nDogs\n\nDogs bark.", "Dogs › Food\nFood\n\nThey eat at nine."]
    assert vector_of(rows, kept.memory_id) != old
    assert (await counted.memories.get(before.memory_id)).deleted_at is not None


async def test_what_is_embedded_later_is_what_would_have_been(
    open_memory: OpenMemory, counted: AsyncMemory, engine: Counting, rows: Rows
) -> None:
    steady = await open_memory()
    await ingest(steady, "guide.md", GUIDE)
    engine.failing = True
    await ingest(counted, "guide.md", GUIDE)
    assert (await counted.admin.stats()).awaiting_embedding_count == 3
    engine.failing = False
    assert await counted.admin.embed_backlog() == 3
    vectors = [
        [vector_of(rows, record.memory_id) for record in await active(memory)] for memory in (steady, counted)
    ]
    assert vectors[0] == vectors[1]
    assert None not in vectors[0]


async def test_equal_passages_are_one_memory_and_stay_while_one_of_them_does(counted: AsyncMemory) -> None:
    await ingest(counted, "two.html", "<h1>A</h1><p>Same words here.</p><h1>A</h1><p>Same words here.</p>")
    await ingest(counted, "other.html", "<h1>A</h1><p>Same words here.</p>")
    (only,) = await active(counted)
    assert len(await counted.documents.chunks("two.html")) == 2
    await ingest(counted, "two.html", "<h1>A</h1><p>Same words here.</p>")
    await counted.documents.delete("two.html")
    assert [record.memory_id for record in await active(counted)] == [only.memory_id]
    await counted.documents.delete("other.html")
    assert await active(counted) == []


async def test_a_memory_of_ones_own_outlives_a_document_with_the_same_words(counted: AsyncMemory) -> None:
    await counted.retain("Water is wet.")
    await ingest(counted, "water.txt", "Water is wet.")
    await counted.documents.delete("water.txt")
    assert contents(await active(counted)) == ["Water is wet."]


async def test_deleting_a_document_forgets_its_chunks(counted: AsyncMemory, rows: Rows) -> None:
    await ingest(counted, "guide.md", GUIDE)
    assert await counted.documents.delete("guide.md") is True
    assert await counted.documents.delete("guide.md") is False
    assert await active(counted) == []
    assert (await counted.recall("large telescope")).refused
    counts = rows.counts(counted.tenant.id)
    assert (
        not {"state.document_sources", "state.document_chunks", "state.reference_documents"} & counts.keys()
    )
    again = await ingest(counted, "guide.md", GUIDE)
    assert (again.chunk_count, len(await active(counted))) == (3, 3)


async def test_a_job_of_a_deleted_document_does_nothing(counted: AsyncMemory) -> None:
    filed = await counted.documents.ingest("guide.md", GUIDE)
    await counted.documents.delete("guide.md")
    assert await ingest_document(core_of(counted), filed.document.document_id) is None


@pytest.mark.parametrize("change", ["replaced", "deleted"])
async def test_a_document_that_changes_while_it_is_ingested_ends_as_its_last_version(
    counted: AsyncMemory, engine: Counting, change: str
) -> None:
    old, new = "\n\n".join(paragraphs(300_000)), "\n\n".join(paragraphs(30_000, seed=2))
    filed = await counted.documents.ingest("long.txt", old)

    async def change_it() -> None:
        if change == "deleted":
            await counted.documents.delete("long.txt")
        else:
            await counted.documents.ingest("long.txt", new)

    engine.meanwhile = change_it
    await ingest_document(core_of(counted), filed.document.document_id)
    wanted = (
        [] if change == "deleted" else [chunk.content for chunk in chunks_of(read_source(new, "text/plain"))]
    )
    assert sorted(contents(await active(counted))) == sorted(wanted)


async def test_two_who_ingest_the_same_document_make_no_doubles(counted: AsyncMemory) -> None:
    text = "\n\n".join(paragraphs(200_000))
    filed = await counted.documents.ingest("long.txt", text)
    await asyncio.gather(*(ingest_document(core_of(counted), filed.document.document_id) for _ in range(3)))
    wanted = [chunk.content for chunk in chunks_of(read_source(text, "text/plain"))]
    assert sorted(contents(await active(counted))) == sorted(wanted)
    status = await counted.documents.status("long.txt")
    assert (status.is_complete, status.chunk_count) == (True, len(wanted))


async def test_one_that_broke_off_goes_on_where_it_was(counted: AsyncMemory, engine: Counting) -> None:
    text = "\n\n".join(paragraphs(400_000))
    filed = await counted.documents.ingest("long.txt", text)
    reported: list[tuple[int, int]] = []

    def break_off(done: int, total: int) -> None:
        reported.append((done, total))
        if done == 2 * INGEST_BATCH:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await ingest_document(core_of(counted), filed.document.document_id, break_off)
    assert (await counted.documents.status("long.txt")).chunk_count == 2 * INGEST_BATCH
    embedded = len(engine.texts)
    await ingest_document(core_of(counted), filed.document.document_id)
    total = reported[0][1]
    assert len(engine.texts) - embedded == total - 2 * INGEST_BATCH
    assert len(await active(counted)) == total


async def test_waiting_works_on_the_job_itself(counted: AsyncMemory, tmp_path: Path) -> None:
    file = tmp_path / "paper.pdf"
    file.write_bytes(pdf("The owl hunts at night.", "The hawk hunts by day.", title="Birds of prey"))
    done = await counted.documents.ingest_file(file, wait=True)
    assert (done.is_complete, done.chunk_count, done.document.name) == (True, 2, "paper.pdf")
    assert done.document.title == "Birds of prey"
    assert done.job_id is not None
    job = await counted.jobs.status(done.job_id)
    assert (job.state, job.result["new_count"]) == ("done", 2)
    hit = next(iter(await counted.recall("Who hunts by day?")))
    assert (hit.memory.content, hit.memory.metadata["page"]) == ("The hawk hunts by day.", 2)


async def test_a_name_is_either_put_or_ingested(counted: AsyncMemory) -> None:
    await counted.documents.put("put", "Short.")
    with pytest.raises(ConflictError, match="was put, not ingested"):
        await counted.documents.ingest("put", "Other.")
    with pytest.raises(NotFoundError, match="was put, not ingested"):
        await counted.documents.status("put")
    await ingest(counted, "ingested", "Long.")
    with pytest.raises(ConflictError, match="was ingested"):
        await counted.documents.put("ingested", "Other.")
    assert sorted(contents(await active(counted))) == ["Long.", "Short."]
    assert [await counted.documents.text(name) for name in ("put", "ingested")] == ["Short.", "Long."]
    assert [document.name for document in await counted.documents.list()] == ["ingested", "put"]


@pytest.mark.parametrize("after", [None, "0", True, -2, 1 << 40])
async def test_what_is_no_index_of_a_chunk_is_refused(counted: AsyncMemory, after: Any) -> None:
    await ingest(counted, "guide.md", GUIDE)
    with pytest.raises(InvalidInputError, match="after must be"):
        await counted.documents.chunks("guide.md", after=after)


async def test_documents_belong_to_owners(counted: AsyncMemory) -> None:
    await ingest(counted, "guide.md", GUIDE)
    for call in (counted.documents.status, counted.documents.text, counted.documents.chunks):
        with pytest.raises(NotFoundError):
            await call("guide.md", owner="bob")
    assert await counted.documents.delete("guide.md", owner="bob") is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"content": None}, "Give either content"),
        ({"data": b"x"}, "Give either content"),
        ({"content": ""}, "content must not be empty"),
        ({"content": None, "data": b"", "media_type": "text/plain"}, "content must not be empty"),
        ({"content": None, "data": b"x", "name": "a.docx"}, "does not tell the format"),
        ({"media_type": "text/rtf"}, "media_type must be one of"),
        ({"name": ""}, "name must have 1 to 256"),
        ({"title": ""}, "title must not be empty"),
        ({"title": "t" * 513}, "title has 513"),
        ({"tags": ["t" * 65]}, "has 65"),
        ({"metadata": {"a": object()}}, "metadata must be JSON"),
        ({"metadata": [1]}, "metadata must be a mapping"),
        ({"channel": ""}, "channel must have"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_bad_document_is_refused_and_nothing_is_written(
    counted: AsyncMemory, rows: Rows, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        await counted.documents.ingest(**{"name": "a.md", "content": "Text.", **arguments})
    assert rows.counts(counted.tenant.id) == {}
