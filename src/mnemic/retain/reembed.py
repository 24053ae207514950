"""Give a memory whose content changes a new vector and new mentions.

`record.memories.change_memory` calls this. The vector is computed before the transaction of the change, and
stored in it. If the embedder fails, the memory is marked and a job embeds it later.
"""

from collections.abc import Awaitable, Callable
from uuid import UUID

from mnemic.db.database import Transaction
from mnemic.db.vectors import (
    ModelChanged,
    Vectors,
    insert_vectors,
    mark_for_embedding,
    open_vectors,
    remove_vectors,
)
from mnemic.embeddings.backlog import enqueue_backlog_job
from mnemic.errors import EmbeddingError
from mnemic.knowledge.mentions import link_mentions
from mnemic.models.embedding_text import embedded_text
from mnemic.record.memories import Reembed
from mnemic.runtime.core import Caller, Core
from mnemic.runtime.serving_model import serving_embedder
from mnemic.types.memory import MemoryRecord


def reembed(caller: Caller) -> Reembed:
    """A function that embeds a changed memory and returns what stores the vector in a transaction."""

    async def prepare(changed: MemoryRecord) -> Callable[[Transaction], Awaitable[None]]:
        embedder = await serving_embedder(caller.core)
        text = embedded_text(changed.name, changed.content)
        try:
            vectors = await embedder.embed_documents([text])
            failure = None
        except EmbeddingError as error:
            failure = str(error)

        async def store(transaction: Transaction) -> None:
            await remove_vectors(transaction, [changed.memory_id])
            if failure is not None:
                await _embed_later(transaction, changed.memory_id, failure)
            else:
                await _store_vector(transaction, caller.core, embedder.name, changed, vectors)
            await transaction.execute(
                "memories.unlink_mentions", {"owner": changed.owner, "memory_id": changed.memory_id}
            )
            await link_mentions(transaction, changed.owner, [(changed.memory_id, changed.content)])

        return store

    return prepare


async def _store_vector(
    transaction: Transaction, core: Core, model: str, changed: MemoryRecord, vectors: Vectors
) -> None:
    """Store the vector, or mark the memory for the backlog if another model serves by now."""
    try:
        table = await open_vectors(transaction, model, vectors.shape[1])
    except ModelChanged as change:
        core.serving_model = change.model
        await _embed_later(transaction, changed.memory_id, str(change))
        return
    await insert_vectors(transaction, table, [changed.memory_id], [changed.owner], vectors)
    await transaction.execute("vectors.clear_backlog", {"ids": [changed.memory_id]})


async def _embed_later(transaction: Transaction, memory_id: UUID, reason: str) -> None:
    await mark_for_embedding(transaction, [memory_id], reason)
    await enqueue_backlog_job(transaction)
