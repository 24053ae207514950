"""The query's embedding, by the model that serves the tenant."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from psycopg.errors import UndefinedTable

from mnemic.db.vectors import ModelChanged, Vectors, VectorTable
from mnemic.errors import ConflictError, DatabaseError, EmbeddingError
from mnemic.models.embedding import TextEmbedder
from mnemic.recall.request import Request
from mnemic.recall.stage_timer import StageTimer
from mnemic.runtime.core import Core
from mnemic.runtime.serving_model import serving_embedder

MODEL_CHANGES_MAX = 3

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class QueryEmbedding:
    """A query's vector and the model that made it."""

    model: str
    vector: Vectors


@dataclass(frozen=True)
class EmbeddingResult:
    """The embedding, or None with a note that says why."""

    embedding: QueryEmbedding | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class VectorQuery:
    """A query's vector and the table of vectors to compare it with."""

    table: VectorTable
    vector: Vectors

    @classmethod
    def of(cls, table: VectorTable | None, embedding: QueryEmbedding | None) -> "VectorQuery | None":
        """None without an embedding or without a table of vectors.

        Raises ModelChanged if another model than the one that embedded the query serves the tenant.
        """
        if table is None or embedding is None:
            return None
        if table.model != embedding.model:
            raise ModelChanged(table.model)
        return cls(table, embedding.vector)


async def with_serving_embedder(core: Core, recall: Callable[[TextEmbedder], Awaitable[Answer]]) -> Answer:
    """Call `recall` with the embedder that serves the tenant, again if the model changes meanwhile."""
    for _ in range(MODEL_CHANGES_MAX):
        try:
            return await recall(await serving_embedder(core))
        except ModelChanged as change:
            core.serving_model = change.model
        except DatabaseError as error:
            # The table of the former model is dropped soon after the switch.
            if not isinstance(error.__cause__, UndefinedTable):
                raise
            core.serving_model = None
    raise ConflictError("The embedding model was changed several times during one recall. Try again.")


async def embed_query(
    core: Core,
    embedder: TextEmbedder,
    request: Request,
    others: Sequence[str],
    timer: StageTimer,
    topic: str,
) -> EmbeddingResult:
    """The mean of the vectors of the query's topic and other texts. If the embedder fails, recall goes
    on without one."""
    if "vector" not in request.techniques:
        return EmbeddingResult(None)
    embed = partial(
        core.models.query_vectors.embed,
        embedder,
        tenant_id=core.tenant.id,
        owner=request.scope.require_owner(),
    )
    with timer.measure("embed"):
        try:
            vectors = [await embed(text) for text in (topic, *others)]
        except EmbeddingError as error:
            return EmbeddingResult(None, (f"vector was left out: {error}",))
    mean = np.mean(vectors, axis=0) if len(vectors) > 1 else vectors[0]
    return EmbeddingResult(QueryEmbedding(embedder.name, mean / (np.linalg.norm(mean) or 1.0)))
