"""Vectors made later: of what was stored while the embedder failed, and of all when the model is changed.

A batch is embedded with no transaction open, then stored where the words are still the ones that were
embedded; what changed meanwhile is read again. So whoever does this may be killed at any time, and two who do
it at once waste work and do no harm.

When a batch fails, a harmless text tells whether the model is down, which ends the work, or refuses some
text, which is then found by halving the batch. A text that was refused `ATTEMPTS_MAX` times is given up, with
its error kept, and no longer in the way of the others.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.db.vectors import ModelChanged, Vectors, insert_vectors, open_vectors, storable_error
from mnemic.errors import EmbeddingError
from mnemic.jobs.queue import enqueue
from mnemic.models.embedding import TextEmbedder
from mnemic.models.embedding_text import embedded_text
from mnemic.runtime.core import Core
from mnemic.runtime.serving_model import serving_embedder

EMBED_BATCH = 256
ATTEMPTS_MAX = 3
BACKLOG_JOB = "embeddings.backlog"
BACKLOG_JOB_ATTEMPTS = 50
"""An embedder that is down may be so for a day; the queue asks again after an hour at the latest."""
HARMLESS_TEXT = "The sky is blue."


@dataclass(frozen=True)
class Embedded:
    """What became of a batch: rows with their vectors, and those that the model refused, with its reason."""

    rows: list[Row]
    vectors: Vectors
    refused: list[tuple[Row, str]]


async def enqueue_backlog_job(transaction: Transaction) -> None:
    """Have the backlog embedded by a job, unless one that will look at it is waiting anyway."""
    if not (await transaction.one("vectors.has_backlog_job"))["has_job"]:
        await enqueue(transaction, BACKLOG_JOB, max_attempts=BACKLOG_JOB_ATTEMPTS)


async def embed_backlog(core: Core, *, on_progress: Callable[[int], None] = lambda count: None) -> int:
    """Embed what was stored without a vector, until nothing waits; returns how many memories that were.

    EmbeddingError ends it when the model is down; what was done until then is kept, the rest stays marked.
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
            done += await database.run(_making_up(embedder.name, embedded))
        except ModelChanged as change:
            core.serving_model = change.model
        on_progress(done)


async def embed_rows(embedder: TextEmbedder, rows: Sequence[Row]) -> Embedded:
    """Embed the words of memories; EmbeddingError only if the model does not even embed a harmless text."""
    try:
        return Embedded(list(rows), await embedder.embed_documents(_texts(rows)), [])
    except EmbeddingError:
        await embedder.embed_documents([HARMLESS_TEXT])
    return await _halved(embedder, rows)


async def unchanged(transaction: Transaction, embedded: Embedded) -> Embedded:
    """What is still there with the same words, which cannot change until the transaction ends."""
    rows = [*embedded.rows, *(row for row, _ in embedded.refused)]
    seen = {"ids": [row["memory_id"] for row in rows], "versions": [row["version"] for row in rows]}
    same = {row["memory_id"] for row in await transaction.rows("vectors.unchanged", seen)}
    keep = [place for place, row in enumerate(embedded.rows) if row["memory_id"] in same]
    return Embedded(
        [embedded.rows[place] for place in keep],
        embedded.vectors[keep],
        [(row, error) for row, error in embedded.refused if row["memory_id"] in same],
    )


async def refuse(transaction: Transaction, name: str, refused: Sequence[tuple[Row, str]]) -> None:
    """Count an attempt at texts that the model refused, by the query of this name."""
    if refused:
        parameters = {
            "ids": [row["memory_id"] for row, _ in refused],
            "errors": [storable_error(error) for _, error in refused],
            "attempts_max": ATTEMPTS_MAX,
        }
        await transaction.execute(name, parameters)


def _making_up(model: str, embedded: Embedded) -> Callable[[Transaction], Awaitable[int]]:
    async def store(transaction: Transaction) -> int:
        still = await unchanged(transaction, embedded)
        if still.rows:
            ids, owners = zip(*((row["memory_id"], row["owner"]) for row in still.rows), strict=True)
            table = await open_vectors(transaction, model, still.vectors.shape[1])
            await insert_vectors(transaction, table, ids, owners, still.vectors)
            await transaction.execute("vectors.clear_backlog", {"ids": list(ids)})
            waiting = {"tenant_id": transaction.tenant.id, "owners": list(owners), "ids": list(ids)}
            await transaction.execute("near_duplicates.mark", waiting)
        await refuse(transaction, "vectors.refuse_backlog", still.refused)
        return len(still.rows)

    return store


async def _halved(embedder: TextEmbedder, rows: Sequence[Row]) -> Embedded:
    """Embed a batch that failed in smaller and smaller parts, until what is refused stands alone."""
    middle = (len(rows) + 1) // 2
    if len(rows) == 1:
        return await _alone(embedder, rows[0])
    first, second = [await _part(embedder, part) for part in (rows[:middle], rows[middle:])]
    vectors = [part.vectors for part in (first, second) if part.rows]
    return Embedded(
        first.rows + second.rows,
        np.concatenate(vectors) if vectors else first.vectors,
        first.refused + second.refused,
    )


async def _part(embedder: TextEmbedder, rows: Sequence[Row]) -> Embedded:
    try:
        return Embedded(list(rows), await embedder.embed_documents(_texts(rows)), [])
    except EmbeddingError:
        return await _halved(embedder, rows)


async def _alone(embedder: TextEmbedder, row: Row) -> Embedded:
    try:
        return Embedded([row], await embedder.embed_documents(_texts([row])), [])
    except EmbeddingError as error:
        return Embedded([], np.empty((0, embedder.dimensions or 0), np.float32), [(row, str(error))])


def _texts(rows: Sequence[Row]) -> list[str]:
    return [embedded_text(row["name"], row["content"], row["context"]) for row in rows]
