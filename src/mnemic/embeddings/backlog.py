"""The embedding backlog: memories stored without a vector because the embedder failed.

A batch is embedded with no transaction open, then stored for those memories whose text is unchanged; the
others are read again later. So the process may be killed at any time, and two processes that work on the
backlog at once waste work but do no harm.

When a batch fails, embedding a known harmless text shows whether the model is down, which ends the work, or
refuses some text, which is then found by bisecting the batch. A text that was refused `ATTEMPTS_MAX` times is
given up, with its error stored, so that it does not block the others.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.db.vectors import ModelChanged, Vectors, insert_vectors, open_vectors, storable_error
from mnemic.errors import EmbedderBusyError, EmbeddingError
from mnemic.jobs.queue import enqueue
from mnemic.models.embedding import TextEmbedder
from mnemic.models.embedding_text import embedded_text
from mnemic.runtime.core import Core
from mnemic.runtime.serving_model import serving_embedder

EMBED_BATCH = 256
ATTEMPTS_MAX = 3
BACKLOG_JOB = "embeddings.backlog"
BACKLOG_JOB_ATTEMPTS = 50
"""An embedder may be down for a day; the backoff of the queue grows to an hour."""
HARMLESS_TEXT = "The sky is blue."


@dataclass(frozen=True)
class Embedded:
    """A batch after embedding: rows with their vectors, and rows that the model refused, with the error."""

    rows: list[Row]
    vectors: Vectors
    refused: list[tuple[Row, str]]


async def enqueue_backlog_job(transaction: Transaction) -> None:
    """Enqueue the job that embeds the backlog, unless one is waiting already."""
    if not (await transaction.one("vectors.has_backlog_job"))["has_job"]:
        await enqueue(transaction, BACKLOG_JOB, max_attempts=BACKLOG_JOB_ATTEMPTS)


async def embed_backlog(core: Core, *, on_progress: Callable[[int], None] = lambda count: None) -> int:
    """Embed the backlog until it is empty; returns the number of memories embedded.

    Raises EmbeddingError when the model is down; batches stored until then are kept, the others stay in the
    backlog.
    """
    database = core.storage.tenant_database
    done = 0
    while True:
        async with database.transaction() as transaction:
            rows = await transaction.rows("vectors.backlog", {"limit": EMBED_BATCH})
        if not rows:
            return done
        embedder = await serving_embedder(core)
        embedded = await embed_rows(embedder, rows)
        try:
            done += await database.run(_store_batch(embedder.name, embedded))
        except ModelChanged as change:
            core.serving_model = change.model
        on_progress(done)


async def embed_rows(embedder: TextEmbedder, rows: Sequence[Row]) -> Embedded:
    """Embed memories; EmbeddingError only if the model cannot even embed a harmless text, or is busy."""
    try:
        return Embedded(list(rows), await embedder.embed_documents(_texts(rows)), [])
    except EmbedderBusyError:
        raise
    except EmbeddingError:
        await embedder.embed_documents([HARMLESS_TEXT])
    return await _embed_halves(embedder, rows)


async def unchanged(transaction: Transaction, embedded: Embedded) -> Embedded:
    """The rows whose text is unchanged, locked until the transaction ends."""
    rows = [*embedded.rows, *(row for row, _ in embedded.refused)]
    seen = {"ids": [row["memory_id"] for row in rows], "versions": [row["version"] for row in rows]}
    same = {row["memory_id"] for row in await transaction.rows("vectors.unchanged", seen)}
    keep = [place for place, row in enumerate(embedded.rows) if row["memory_id"] in same]
    return Embedded(
        [embedded.rows[place] for place in keep],
        embedded.vectors[keep],
        [(row, error) for row, error in embedded.refused if row["memory_id"] in same],
    )


async def record_refused(transaction: Transaction, name: str, refused: Sequence[tuple[Row, str]]) -> None:
    """Count an attempt at texts that the model refused, by the named query."""
    if refused:
        parameters = {
            "ids": [row["memory_id"] for row, _ in refused],
            "errors": [storable_error(error) for _, error in refused],
            "attempts_max": ATTEMPTS_MAX,
        }
        await transaction.execute(name, parameters)


def _store_batch(model: str, embedded: Embedded) -> Callable[[Transaction], Awaitable[int]]:
    async def store(transaction: Transaction) -> int:
        current = await unchanged(transaction, embedded)
        if current.rows:
            ids, owners = zip(*((row["memory_id"], row["owner"]) for row in current.rows), strict=True)
            table = await open_vectors(transaction, model, current.vectors.shape[1])
            await insert_vectors(transaction, table, ids, owners, current.vectors)
            await transaction.execute("vectors.clear_backlog", {"ids": list(ids)})
            waiting = {"tenant_id": transaction.tenant.id, "owners": list(owners), "ids": list(ids)}
            await transaction.execute("near_duplicates.mark", waiting)
        await record_refused(transaction, "vectors.refuse_backlog", current.refused)
        return len(current.rows)

    return store


async def _embed_halves(embedder: TextEmbedder, rows: Sequence[Row]) -> Embedded:
    """Embed a failed batch in halves, recursively, until each refused text is found."""
    middle = (len(rows) + 1) // 2
    if len(rows) == 1:
        return await _embed_one(embedder, rows[0])
    first, second = [await _embed_part(embedder, part) for part in (rows[:middle], rows[middle:])]
    vectors = [part.vectors for part in (first, second) if part.rows]
    return Embedded(
        first.rows + second.rows,
        np.concatenate(vectors) if vectors else first.vectors,
        first.refused + second.refused,
    )


async def _embed_part(embedder: TextEmbedder, rows: Sequence[Row]) -> Embedded:
    try:
        return Embedded(list(rows), await embedder.embed_documents(_texts(rows)), [])
    except EmbedderBusyError:
        raise
    except EmbeddingError:
        return await _embed_halves(embedder, rows)


async def _embed_one(embedder: TextEmbedder, row: Row) -> Embedded:
    try:
        return Embedded([row], await embedder.embed_documents(_texts([row])), [])
    except EmbedderBusyError:
        raise
    except EmbeddingError as error:
        return Embedded([], np.empty((0, embedder.dimensions or 0), np.float32), [(row, str(error))])


def _texts(rows: Sequence[Row]) -> list[str]:
    return [embedded_text(row["name"], row["content"], row["context"]) for row in rows]
