"""Vector tables: their names depend on the model, so their SQL is composed, here and nowhere else.

Vectors travel in pgvector's binary form, many in one array parameter: no text to print and parse,
and no Python object per number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
from psycopg import sql
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

from mnemic.db.database import Transaction
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
# The newest vectors of the owner, bounded, compared exactly with each of the given ones.
_NEAREST = sql.SQL(
    "SELECT given.memory_id, near.memory_id AS like_id, near.similarity"
    " FROM unnest(%(ids)s::uuid[], %(vectors)s::halfvec[]) AS given (memory_id, embedding)"
    " CROSS JOIN LATERAL ("
    "   SELECT recent.memory_id, 1 - (recent.embedding <=> given.embedding) AS similarity"
    "   FROM (SELECT memory_id, embedding FROM vectors.{table} WHERE owner = %(owner)s"
    "         ORDER BY memory_id DESC LIMIT %(scan_limit)s) AS recent"
    "   WHERE recent.memory_id <> given.memory_id"
    "   ORDER BY recent.embedding <=> given.embedding LIMIT 1"
    " ) AS near"
    " WHERE near.similarity >= %(threshold)s"
)
_COSINES = sql.SQL(
    # One look by key per memory, whatever the planner believes about the table.
    "SELECT array_agg(found.memory_id) AS memory_ids, array_agg(found.cosine) AS cosines"
    " FROM unnest(%(ids)s::uuid[]) AS given (memory_id)"
    " CROSS JOIN LATERAL ("
    "   SELECT memory_id, (1 - (embedding <=> (%(vectors)s::halfvec[])[1]))::real AS cosine"
    "   FROM vectors.{table} AS stored WHERE stored.memory_id = given.memory_id LIMIT 1"
    " ) AS found"
)


@dataclass(frozen=True)
class VectorTable:
    """The table of one embedding model."""

    model: str
    dimensions: int
    name: str
    halfvec_oid: int


class HalfVectors:
    """Vectors as one PostgreSQL array parameter of type halfvec[]."""

    def __init__(self, vectors: Vectors, halfvec_oid: int) -> None:
        count, dimensions = vectors.shape
        rows = np.zeros(
            count,
            dtype=[
                ("bytes", ">i4"),
                ("dimensions", ">i2"),
                ("unused", ">i2"),
                ("values", ">f2", (dimensions,)),
            ],
        )
        rows["bytes"] = 4 + 2 * dimensions
        rows["dimensions"] = dimensions
        rows["values"] = vectors
        # One dimension, no NULLs, element type, length, first index.
        head = np.array([1, 0, halfvec_oid, count, 1], dtype=">i4")
        self.binary = head.tobytes() + rows.tobytes()


class HalfVector:
    """One vector as a PostgreSQL parameter of type halfvec."""

    def __init__(self, vector: Vectors) -> None:
        (dimensions,) = vector.shape
        self.binary = np.array([dimensions, 0], dtype=">i2").tobytes() + vector.astype(">f2").tobytes()


class HalfVectorsDumper(Dumper):
    """Hands the bytes over as they are; the cast in the query says which type they are."""

    format = Format.BINARY

    def dump(self, obj: HalfVectors | HalfVector) -> Buffer | None:
        """The wire form."""
        return obj.binary


async def open_vectors(transaction: Transaction, model: str, dimensions: int) -> VectorTable:
    """The table of a model; it is made on first use. Another dimension than before is an error."""
    table = await find_vectors(transaction, model)
    if table is None:
        row = await transaction.one("vectors.open", {"model": model, "dimensions": dimensions})
        table = VectorTable(model, row["dimensions"], row["table_name"], row["halfvec_oid"])
    if table.dimensions != dimensions:
        raise ConflictError(
            f"The embedding model {model!r} gave {dimensions} dimensions, but its vectors here have "
            f"{table.dimensions}. Two models must not share a name: give this one another."
        )
    return table


async def find_vectors(transaction: Transaction, model: str) -> VectorTable | None:
    """The table of a model, if it was ever used. It stays the same for good, so it is asked for once."""
    key = f"vectors of {model}"
    known: VectorTable | None = transaction.remembered.get(key)
    if known is not None:
        return known
    row = await transaction.first("vectors.find", {"model": model})
    if row is None:
        return None
    table = VectorTable(model, row["dimensions"], row["table_name"], row["halfvec_oid"])
    transaction.remembered[key] = table
    return table


async def cosines_of(
    transaction: Transaction, table: VectorTable, ids: Sequence[UUID], vector: Vectors
) -> dict[UUID, float]:
    """How near these memories are to a vector; those that have none in this model are left out."""
    (row,) = await _execute(transaction, _COSINES, table, vector[None, :], ids=list(ids))
    return dict(zip(row["memory_ids"] or (), row["cosines"] or (), strict=True))


async def insert_vectors(
    transaction: Transaction, table: VectorTable, ids: Sequence[UUID], owners: Sequence[str], vectors: Vectors
) -> None:
    """Store one vector per memory; a memory that has one keeps it."""
    await _execute(transaction, _INSERT, table, vectors, ids=list(ids), owners=list(owners))


async def remove_vectors(transaction: Transaction, ids: Sequence[UUID]) -> None:
    """Take the vectors of memories out of every model's table."""
    for row in await transaction.rows("vectors.tables"):
        await transaction.connection.execute(
            _REMOVE.format(table=sql.Identifier(row["table_name"])), {"ids": list(ids)}
        )


async def mark_for_embedding(transaction: Transaction, ids: Sequence[UUID], error: str) -> None:
    """Remember that memories have no vector yet, and why; the words of a foreign error may be anything."""
    storable = error[:ERROR_MAX_CHARACTERS].replace("\0", "").encode(errors="replace").decode()
    parameters = {"tenant_id": transaction.tenant.id, "ids": sorted(ids), "error": storable}
    await transaction.execute("vectors.mark_backlog", parameters)


async def near_duplicates(
    transaction: Transaction,
    table: VectorTable,
    owner: str,
    ids: Sequence[UUID],
    vectors: Vectors,
    *,
    threshold: float,
    scan_limit: int,
) -> list[dict[str, Any]]:
    """For each of these memories the most similar other one of the owner, if it is similar enough."""
    return await _execute(
        transaction,
        _NEAREST,
        table,
        vectors,
        ids=list(ids),
        owner=owner,
        threshold=threshold,
        scan_limit=scan_limit,
    )


async def _execute(
    transaction: Transaction, text: sql.SQL, table: VectorTable, vectors: Vectors, **parameters: Any
) -> list[dict[str, Any]]:
    async with transaction.connection.cursor() as cursor:
        cursor.adapters.register_dumper(HalfVectors, HalfVectorsDumper)
        await cursor.execute(
            text.format(table=sql.Identifier(table.name)),
            {
                "tenant_id": transaction.tenant.id,
                "vectors": HalfVectors(vectors, table.halfvec_oid),
                **parameters,
            },
            # Planned anew: see Transaction.rows_planned_anew.
            prepare=False,
        )
        return await cursor.fetchall() if cursor.description is not None else []
