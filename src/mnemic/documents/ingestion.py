"""Ingest a document: from its text to memories that are found by words and by meaning.

1. Split the text into chunks in a process of its own (`reading/chunks.py`, `isolated_reading.py`) and
   compare them with the stored ones (`chunk_plan.py`).
2. Store the missing chunks in batches. A batch is embedded with no transaction open and stored in one
   transaction together with the record of its chunks, so a job that was killed continues with the next batch.
3. Re-embed the chunks whose context changed.
4. Record where the other chunks moved to, and forget the memories of chunks that are gone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from uuid import UUID

from mnemic.db.database import Transaction
from mnemic.db.vectors import ModelChanged, insert_vectors, open_vectors
from mnemic.documents.chunk_plan import (
    ChunkPlan,
    DocumentChanged,
    add_chunks,
    complete,
    key_of,
    lock_version,
    metadata_of,
    plan_chunks,
)
from mnemic.documents.isolated_reading import cut_isolated
from mnemic.documents.reading.chunks import DocumentChunk
from mnemic.documents.sources import SourceDocument, read_source_document
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
    """Bring the memories of a document in line with its text; None if the document was deleted.

    Returns the numbers of new, re-embedded and forgotten chunks. Starts over if the document changes
    meanwhile.
    """
    while True:
        document = await read_source_document(core.storage.tenant_database, document_id)
        if document is None:
            return None
        try:
            return await _ingest(core, document, report)
        except DocumentChanged:
            continue


async def _ingest(core: Core, document: SourceDocument, report: Report) -> dict[str, int]:
    database = core.storage.tenant_database
    chunks = await cut_isolated(core, document.text, document.sections)
    plan = await plan_chunks(database, document, chunks)
    report(len(chunks) - len(plan.missing), len(chunks))
    done = len(chunks) - len(plan.missing)
    for batch in _batches(plan.missing):
        await _store(core, document, batch)
        done += len(batch)
        report(done, len(chunks))
    for batch in _batches(plan.context_changed):
        await _reembed(core, document, batch, plan)
    await database.run(lambda transaction: complete(transaction, document, plan))
    counts = {"new": plan.missing, "reembedded": plan.context_changed, "gone": plan.gone}
    return {"chunk_count": len(chunks), **{f"{name}_count": len(which) for name, which in counts.items()}}


async def _store(core: Core, document: SourceDocument, chunks: Sequence[DocumentChunk]) -> None:
    """Retain chunks and record which memories they are, in one transaction."""

    async def record(transaction: Transaction, retained: Retained) -> None:
        await lock_version(transaction, document)
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
        and_then=record,
        contexts=contexts,
    )


async def _reembed(
    core: Core, document: SourceDocument, chunks: Sequence[DocumentChunk], plan: ChunkPlan
) -> None:
    """Replace the vectors of chunks whose context changed; where the model refuses, the old vector stays."""
    database = core.storage.tenant_database
    contexts = {plan.ids[key_of(chunk)]: chunk.context for chunk in chunks}
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
        await _reembed(core, document, chunks, plan)


async def _replace(
    transaction: Transaction,
    document: SourceDocument,
    contexts: Mapping[UUID, str],
    model: str,
    embedded: Embedded,
) -> None:
    await lock_version(transaction, document)
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


def _batches(chunks: Sequence[DocumentChunk]) -> Iterator[Sequence[DocumentChunk]]:
    for start in range(0, len(chunks), INGEST_BATCH):
        yield chunks[start : start + INGEST_BATCH]
