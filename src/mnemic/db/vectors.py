"""Vector tables: their names depend on the model, so their SQL is composed, here and nowhere else.

One model serves a tenant at a time (`vectors.tenant_models`). Whoever reads or writes vectors asks which one
in the same transaction, and may rely on the answer until it ends: changing the model waits for that
(docs/adr/0014-changing-the-embedding-model.md). What was embedded by another model raises `ModelChanged`.

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
_REMOVE_SOME = sql.SQL(
    "DELETE FROM vectors.{table} WHERE memory_id IN (SELECT memory_id FROM vectors.{table} LIMIT %(limit)s)"
)
# Compared exactly with the newest vectors of the owner, bounded, and with each other:
# a statement does not see what it stores itself.
_INSERT_AND_COMPARE = sql.SQL(
    "WITH given AS MATERIALIZED ("
    "   SELECT memory_id, embedding FROM unnest(%(ids)s::uuid[], %(vectors)s::halfvec[])"
    "   AS given (memory_id, embedding)"
    " ), stored AS ("
    "   INSERT INTO vectors.{table} (tenant_id, memory_id, owner, embedding)"
    "   SELECT %(tenant_id)s, memory_id, %(owner)s, embedding FROM given"
    "   ON CONFLICT DO NOTHING"
    " )"
    " SELECT given.memory_id, near.memory_id AS like_id, near.similarity"
    " FROM given"
    " CROSS JOIN LATERAL ("
    "   SELECT known.memory_id, 1 - (known.embedding <=> given.embedding) AS similarity"
    "   FROM ("
    "     (SELECT memory_id, embedding FROM vectors.{table} WHERE owner = %(owner)s"
    "      ORDER BY memory_id DESC LIMIT %(scan_limit)s)"
    "     UNION ALL SELECT memory_id, embedding FROM given"
    "   ) AS known"
    "   WHERE known.memory_id <> given.memory_id"
    "   ORDER BY known.embedding <=> given.embedding LIMIT 1"
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
    halfvec_oid: int
    next_name: str | None = None


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
    if row is None:
        return None
    return VectorTable(
        row["model"], row["dimensions"], row["table_name"], row["halfvec_oid"], row["next_table_name"]
    )


async def find_vectors(transaction: Transaction, model: str) -> VectorTable | None:
    """The table of a model, if there is one, whether it serves the tenant or not."""
    row = await transaction.first("vectors.find", {"model": model})
    return VectorTable(model, row["dimensions"], row["table_name"], row["halfvec_oid"]) if row else None


async def make_vectors(transaction: Transaction, model: str, dimensions: int) -> VectorTable:
    """The table of a model that is to be changed to; another dimension than before is an error."""
    row = await transaction.one("vectors.open", {"model": model, "dimensions": dimensions})
    table = VectorTable(model, row["dimensions"], row["table_name"], row["halfvec_oid"])
    _check_dimensions(table, dimensions)
    return table


def _check_dimensions(table: VectorTable, dimensions: int) -> None:
    if table.dimensions != dimensions:
        raise ConflictError(
            f"The embedding model {table.model!r} gave {dimensions} dimensions, but its vectors here have "
            f"{table.dimensions}. Two models must not share a name: give this one another."
        )


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
    await _mark_for_next(transaction, table, ids)


async def insert_and_compare(
    transaction: Transaction,
    table: VectorTable,
    owner: str,
    ids: Sequence[UUID],
    vectors: Vectors,
    *,
    threshold: float,
    scan_limit: int,
) -> list[dict[str, Any]]:
    """Store one vector per memory of an owner, and find its near duplicates, in one statement.

    For each memory, the most similar other one, if it is similar enough.
    """
    parameters = {"ids": list(ids), "owner": owner, "threshold": threshold, "scan_limit": scan_limit}
    pairs = await _execute(transaction, _INSERT_AND_COMPARE, table, vectors, **parameters)
    await _mark_for_next(transaction, table, ids)
    return pairs


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
