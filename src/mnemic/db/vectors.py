"""Vector tables: their names depend on the model, so their SQL is composed, here and nowhere else.

One model serves a tenant at a time (`vectors.tenant_models`). Whoever reads or writes vectors asks which one
in the same transaction, and may rely on the answer until it ends: changing the model waits for that
(docs/adr/0014-changing-the-embedding-model.md). What was embedded by another model raises `ModelChanged`.

What `retain` does with vectors is in the database itself (`sql/definitions/retain/`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, LiteralString
from uuid import UUID

import numpy as np
import numpy.typing as npt
from psycopg import sql

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.db.half_vectors import HalfVector, HalfVectors
from mnemic.db.id_arrays import IdArray, Key
from mnemic.errors import ConflictError

Vectors = npt.NDArray[np.float32]

ERROR_MAX_CHARACTERS = 1024

_INSERT = sql.SQL(
    "INSERT INTO vectors.{table} (tenant_id, memory_id, owner, embedding)"
    " SELECT %(tenant_id)s, memory_id, owner, embedding"
    " FROM unnest(%(ids)s::uuid[], %(owners)s::text[], %(vectors)s::halfvec[])"
    " AS given (memory_id, owner, embedding)"
    " ON CONFLICT DO NOTHING"
)
_REMOVE = sql.SQL("DELETE FROM vectors.{table} WHERE memory_id = ANY(%(ids)s::uuid[])")
_REMOVE_SOME = sql.SQL(
    "DELETE FROM vectors.{table} WHERE memory_id IN (SELECT memory_id FROM vectors.{table} LIMIT %(limit)s)"
)
_COSINES = sql.SQL(
    # One look by key per memory, whatever the planner believes about the table.
    "SELECT array_agg(found.memory_id) AS memory_ids, array_agg(found.cosine) AS cosines"
    " FROM unnest(%(ids)s::uuid[]) AS given (memory_id)"
    " CROSS JOIN LATERAL ("
    "   SELECT memory_id, (1 - (embedding <=> %(vector)s::halfvec))::real AS cosine"
    "   FROM vectors.{table} AS stored WHERE stored.memory_id = given.memory_id LIMIT 1"
    " ) AS found"
)
_WITH_VECTORS = sql.SQL(
    "WITH retained AS MATERIALIZED ({retaining}), kept AS ("
    " INSERT INTO vectors.{table} (tenant_id, memory_id, owner, embedding)"
    " SELECT %(tenant_id)s::uuid, given.memory_id, %(owner)s::text, given.embedding"
    " FROM retained, unnest(%(ids)s::uuid[], %(vectors)s::halfvec[]) AS given (memory_id, embedding)"
    " WHERE retained.outcome = 'stored'"
    ") SELECT outcome FROM retained"
)
TABLES_KEPT = 64


class ModelChanged(Exception):
    """Another model serves the tenant than the one that was meant: `model`. News, and no failure."""

    def __init__(self, model: str) -> None:
        super().__init__(f"The embedding model was changed to {model!r} meanwhile.")
        self.model = model


@dataclass(frozen=True)
class VectorTable:
    """The table of one embedding model.

    While the model is being changed, `next_name` is the table of the next one: what is stored is marked
    for it.
    """

    model: str
    dimensions: int
    name: str
    next_name: str | None = None

    @classmethod
    def from_row(cls, row: Row) -> "VectorTable":
        """The table in a row of `mnemic.vector_tables_in_use()`."""
        return cls(row["model"], row["dimensions"], row["table_name"], row["next_table_name"])


async def open_vectors(transaction: Transaction, model: str, dimensions: int) -> VectorTable:
    """The table to store a model's vectors in; it is made on first use.

    Raises ModelChanged if another model serves the tenant, ConflictError if the model's vectors had another
    dimension before.
    """
    table = await vectors_in_use(transaction)
    if table is None:
        await transaction.one("vectors.adopt", {"model": model, "dimensions": dimensions})
        table = await vectors_in_use(transaction)
        assert table is not None, "a model was just adopted"
    if table.model != model:
        raise ModelChanged(table.model)
    _check_dimensions(table, dimensions)
    return table


async def vectors_in_use(transaction: Transaction) -> VectorTable | None:
    """The vectors that serve the tenant, until the transaction ends; None before the first one."""
    row = await transaction.first("vectors.in_use")
    return VectorTable.from_row(row) if row is not None else None


async def find_vectors(transaction: Transaction, model: str) -> VectorTable | None:
    """The table of a model, if there is one, whether it serves the tenant or not."""
    row = await transaction.first("vectors.find", {"model": model})
    return VectorTable(model, row["dimensions"], row["table_name"]) if row else None


async def make_vectors(transaction: Transaction, model: str, dimensions: int) -> VectorTable:
    """The table of a model that is to be changed to; another dimension than before is an error."""
    row = await transaction.one("vectors.open", {"model": model, "dimensions": dimensions})
    table = VectorTable(model, row["dimensions"], row["table_name"])
    _check_dimensions(table, dimensions)
    return table


def _check_dimensions(table: VectorTable, dimensions: int) -> None:
    if table.dimensions != dimensions:
        raise ConflictError(
            f"The embedding model {table.model!r} gave {dimensions} dimensions, but its vectors here have "
            f"{table.dimensions}. Two models must not share a name: give this one another."
        )


async def cosines_of(
    transaction: Transaction, table: VectorTable, keys: Iterable[Key], vector: Vectors
) -> dict[Key, float]:
    """How near these memories are to a vector; those that have none in this model are left out."""
    async with transaction.connection.cursor(binary=True) as cursor:
        await cursor.execute(
            _COSINES.format(table=sql.Identifier(table.name)),
            {"ids": IdArray(keys), "vector": HalfVector(vector)},
            # Planned anew: see Transaction.rows_planned_anew.
            prepare=False,
        )
        (row,) = await cursor.fetchall()
    return dict(zip(row["memory_ids"] or (), row["cosines"] or (), strict=True))


def table_name_of(model: str) -> str:
    """The name that `mnemic.open_vector_table` gives to the table of a model; there may be no such table."""
    return f"model_{sha256(model.encode()).hexdigest()[:16]}"


@lru_cache(TABLES_KEPT)
def with_vectors(retaining: LiteralString, table_name: str) -> LiteralString:
    """A statement that retains, and if its `outcome` is `stored`, stores the vectors of what it has stored.

    With the table's name in it, it is planned once; a function that is given the name would plan each time.
    """
    statement = _WITH_VECTORS.format(retaining=sql.SQL(retaining), table=sql.Identifier(table_name))
    return statement.as_string()


async def insert_vectors(
    transaction: Transaction, table: VectorTable, ids: Sequence[UUID], owners: Sequence[str], vectors: Vectors
) -> None:
    """Store one vector per memory; a memory that has one keeps it."""
    await _execute(transaction, _INSERT, table, vectors, ids=list(ids), owners=list(owners))
    await _mark_for_next(transaction, table, ids)


async def _mark_for_next(transaction: Transaction, table: VectorTable, ids: Sequence[UUID]) -> None:
    if table.next_name is not None:
        parameters = {"tenant_id": transaction.tenant.id, "ids": sorted(ids)}
        await transaction.execute("reembedding.mark", parameters)


async def remove_vectors(transaction: Transaction, ids: Sequence[UUID]) -> None:
    """Take the vectors of memories away, of the model that serves and of the one being changed to."""
    table = await vectors_in_use(transaction)
    names = (table.name, table.next_name) if table is not None else ()
    for name in names:
        if name is not None:
            statement = _REMOVE.format(table=sql.Identifier(name))
            await transaction.connection.execute(statement, {"ids": list(ids)})


async def replace_vectors(
    transaction: Transaction, table: VectorTable, ids: Sequence[UUID], owners: Sequence[str], vectors: Vectors
) -> None:
    """Store one vector per memory in place of the one that it has in this table, if it has one."""
    statement = _REMOVE.format(table=sql.Identifier(table.name))
    await transaction.connection.execute(statement, {"ids": list(ids)})
    await insert_vectors(transaction, table, ids, owners, vectors)


async def remove_some_vectors(transaction: Transaction, table: VectorTable, limit: int) -> int:
    """Take some of the tenant's vectors out of a model's table; returns how many that were."""
    statement = _REMOVE_SOME.format(table=sql.Identifier(table.name))
    cursor = await transaction.connection.execute(statement, {"limit": limit})
    return cursor.rowcount


async def mark_for_embedding(transaction: Transaction, ids: Sequence[UUID], error: str) -> None:
    """Remember that memories have no vector yet, and why."""
    parameters = {"tenant_id": transaction.tenant.id, "ids": sorted(ids), "error": storable_error(error)}
    await transaction.execute("vectors.mark_backlog", parameters)


def storable_error(error: str) -> str:
    """The words of a foreign error, which may be anything, so that they can be stored."""
    return error[:ERROR_MAX_CHARACTERS].replace("\0", "").encode(errors="replace").decode()


async def _execute(
    transaction: Transaction, text: sql.SQL, table: VectorTable, vectors: Vectors, **parameters: Any
) -> list[dict[str, Any]]:
    async with transaction.connection.cursor() as cursor:
        await cursor.execute(
            text.format(table=sql.Identifier(table.name)),
            {
                "tenant_id": transaction.tenant.id,
                "vectors": HalfVectors(vectors),
                **parameters,
            },
            # Planned anew: see Transaction.rows_planned_anew.
            prepare=False,
        )
        return await cursor.fetchall() if cursor.description is not None else []
