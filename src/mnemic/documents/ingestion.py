"""Ingesting a document: from its text to memories that are found by words and by meaning.

1. Cut the text into chunks and compare them with those that are there (`documents/chunk_plan.py`).
2. Store the missing ones, a batch at a time: embedded with no transaction open, stored in one, with the note
   of which chunks they are. A batch is there as a whole or not at all, so that a job that was killed goes on
   with the next one.
3. Embed those anew that stand behind other words now.
4. Say where the others stand, and forget the memories of chunks that the document has no more.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from uuid import UUID

from mnemic.db.database import Transaction
from mnemic.db.vectors import ModelChanged, insert_vectors, open_vectors
from mnemic.documents.chunk_plan import (
    Overtaken,
    Plan,
    SourceDocument,
    add_chunks,
    hold_version,
    key_of,
    metadata_of,
    plan,
    read_source_document,
    settle,
)
from mnemic.documents.reading.chunks import Chunk, chunks_of
from mnemic.embeddings.backlog import Embedded, embed_rows, unchanged
from mnemic.retain.pipeline import retain_items
from mnemic.runtime.core import Caller, Core
from mnemic.runtime.serving_model import serving_embedder
from mnemic.types.retained import Retained
from mnemic.types.scope import Scope

INGEST_BATCH = 128

Report = Callable[[int, int], None]


async def ingest_document(
    core: Core, document_id: UUID, report: Report = lambda done, total: None
) -> dict[str, int] | None:
    """Make the memories of a document what its text says; None if the document is gone.

    Returns how many chunks were new, embedded anew and forgotten. If another version is filed meanwhile, it
    begins again with that one.
    """
    while True:
        document = await read_source_document(core.storage.tenant_database, document_id)
        if document is None:
            return None
        try:
            return await _ingest(core, document, report)
        except Overtaken:
            continue


async def _ingest(core: Core, document: SourceDocument, report: Report) -> dict[str, int]:
    database = core.storage.tenant_database
    # Some megabytes take a while, in which others want to go on.
    chunks = await asyncio.to_thread(lambda: list(chunks_of(document.reading)))
    todo = await plan(database, document, chunks)
    report(len(chunks) - len(todo.missing), len(chunks))
    done = len(chunks) - len(todo.missing)
    for batch in _batches(todo.missing):
        await _store(core, document, batch)
        done += len(batch)
        report(done, len(chunks))
    for batch in _batches(todo.behind_others):
        await _embed_anew(core, document, batch, todo)
    await database.run(lambda transaction: settle(transaction, document, todo))
    counts = {"new": todo.missing, "embedded_anew": todo.behind_others, "gone": todo.gone}
    return {"chunk_count": len(chunks), **{f"{name}_count": len(which) for name, which in counts.items()}}


async def _store(core: Core, document: SourceDocument, chunks: Sequence[Chunk]) -> None:
    """Retain chunks and note which memories they are, in one transaction."""

    async def note(transaction: Transaction, retained: Retained) -> None:
        await hold_version(transaction, document)
        await add_chunks(transaction, document, chunks, retained.memory_ids)

    contexts = {chunk.content: chunk.context for chunk in reversed(chunks)}
    await retain_items(
        Caller(core, Scope(document.owner, document.channel, document.process)),
        [{"content": chunk.content, "metadata": metadata_of(document, chunk)} for chunk in chunks],
        {
            "category": "reference",
            "source": "imported",
            "tags": document.tags,
            "evidence": [f"document:{document.document_id}"],
        },
        and_then=note,
        contexts=contexts,
    )


async def _embed_anew(core: Core, document: SourceDocument, chunks: Sequence[Chunk], todo: Plan) -> None:
    """Give chunks the vectors of what they stand behind now; what is refused keeps the vector it has."""
    database = core.storage.tenant_database
    contexts = {todo.ids[key_of(chunk)]: chunk.context for chunk in chunks}
    async with database.transaction() as transaction:
        rows = await transaction.rows("ingest.embeddable", {"ids": list(contexts)})
    embedder = await serving_embedder(core)
    embedded = await embed_rows(embedder, [{**row, "context": contexts[row["memory_id"]]} for row in rows])
    try:
        await database.run(
            lambda transaction: _replace(transaction, document, contexts, embedder.name, embedded)
        )
    except ModelChanged as change:
        core.serving_model = change.model
        await _embed_anew(core, document, chunks, todo)


async def _replace(
    transaction: Transaction,
    document: SourceDocument,
    contexts: Mapping[UUID, str],
    model: str,
    embedded: Embedded,
) -> None:
    await hold_version(transaction, document)
    still = await unchanged(transaction, embedded)
    if still.rows:
        ids, owners = zip(*((row["memory_id"], row["owner"]) for row in still.rows), strict=True)
        table = await open_vectors(transaction, model, still.vectors.shape[1])
        await insert_vectors(transaction, table, ids, owners, still.vectors, replace=True)
        await transaction.execute("vectors.clear_backlog", {"ids": list(ids)})
    parameters = {
        "document_id": document.document_id,
        "ids": list(contexts),
        "contexts": list(contexts.values()),
    }
    await transaction.execute("ingest.set_contexts", parameters)


def _batches(chunks: Sequence[Chunk]) -> Iterator[Sequence[Chunk]]:
    for start in range(0, len(chunks), INGEST_BATCH):
        yield chunks[start : start + INGEST_BATCH]
