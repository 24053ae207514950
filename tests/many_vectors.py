"""Owners with many vectors, for tests of vector indexes."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from mnemic.db.database import Database, Transaction
from mnemic.db.tenancy import Tenant
from mnemic.db.vectors import Vectors, VectorTable, insert_vectors, open_vectors
from mnemic.types.identity import new_id

# The name and the length of the vectors that `embedder="test"` makes.
MODEL = "test:hash-64"
DIMENSIONS = 64
CENTRES = 20

_MEMORIES = """
    INSERT INTO state.memories (tenant_id, memory_id, owner, channel, process, content, category, source)
    SELECT %s, memory_id, %s, '_global', 'test', 'a fact ' || memory_id, 'factual', 'imported'
    FROM unnest(%s::uuid[]) AS memory_id
"""


@dataclass(frozen=True)
class Filled:
    """The stored vectors of an owner, rounded as in the database."""

    table: VectorTable
    ids: tuple[UUID, ...]
    vectors: Vectors


def clustered(count: int, *, seed: int) -> Vectors:
    """Vectors of length one around a few centres, like those of texts about a few topics."""
    centres = np.random.default_rng(7).normal(size=(CENTRES, DIMENSIONS))
    random = np.random.default_rng(seed)
    near = centres[random.integers(0, CENTRES, count)] + 0.6 * random.normal(size=(count, DIMENSIONS))
    rounded: Vectors = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float16)
    return rounded.astype(np.float32)


async def give_vectors(
    database: Database,
    tenant: Tenant,
    owner: str,
    vectors: Vectors,
    *,
    ids: Sequence[UUID] | None = None,
) -> Filled:
    """Store a memory for each vector, in their order."""
    made = tuple(ids) if ids is not None else tuple(sorted(new_id() for _ in vectors))
    async with database.transaction(tenant) as transaction:
        table = await open_vectors(transaction, MODEL, DIMENSIONS)
        await _store(transaction, table, owner, made, vectors)
    return Filled(table, made, vectors)


async def _store(
    transaction: Transaction, table: VectorTable, owner: str, ids: Sequence[UUID], vectors: Vectors
) -> None:
    await transaction.connection.execute(_MEMORIES, (transaction.tenant.id, owner, list(ids)))
    await insert_vectors(transaction, table, ids, [owner] * len(ids), vectors)
