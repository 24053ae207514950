"""Vector tables. Each embedding model has its own, so their SQL is composed, here and nowhere else.

One model serves a tenant at a time (`vectors.tenant_models`). A transaction that reads or writes vectors
looks up which one; that stays valid until the transaction ends, because a change of the model waits for it
(docs/adr/0014-changing-the-embedding-model.md). `ModelChanged` means that another model serves than expected.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import LiteralString
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

# The one statement that inserts vectors; a memory that has a vector keeps it.
_INSERT = sql.SQL(
    "INSERT INTO vectors.{table} (tenant_id, memory_id, owner, embedding)"
    " SELECT %(tenant_id)s::uuid, given.memory_id, given.owner, given.embedding"
    " FROM unnest(%(ids)s::uuid[], {owners}, %(vectors)s::halfvec[]) AS given (memory_id, owner, embedding)"
    " WHERE {condition}"
    " ON CONFLICT DO NOTHING"
)
_EACH_OWNER = sql.SQL("%(owners)s::text[]")
_ONE_OWNER = sql.SQL("array_fill(%(owner)s::text, ARRAY[cardinality(%(ids)s::uuid[])])")
_ALWAYS = sql.SQL("true")
# IS TRUE keeps it a hashed subplan: as a join it could become a nested loop over two arrays.
_IF_STORED = sql.SQL("(given.memory_id IN (SELECT unnest(stored.memory_ids) FROM stored)) IS TRUE")
_WITH_VECTORS = sql.SQL(
    "WITH stored AS MATERIALIZED ({storing}), inserted AS ({insert}) SELECT * FROM stored"
)
_WITH_COSINES = sql.SQL(
    "SELECT found.*, theirs.*"
    " FROM ({finding}) AS found"
    " CROSS JOIN LATERAL ("
    "   SELECT"
    "     array_agg(listed.memory_id) FILTER (WHERE NOT listed.is_sample) AS other_ids,"
    "     array_agg(compared.cosine::real) FILTER (WHERE NOT listed.is_sample) AS other_cosines,"
    "     avg(compared.cosine) FILTER (WHERE listed.is_sample) AS sample_mean,"
    "     stddev_pop(compared.cosine) FILTER (WHERE listed.is_sample) AS sample_deviation,"
    "     count(*) FILTER (WHERE listed.is_sample) AS sample_count"
    "   FROM ("
    "     SELECT given.memory_id, false AS is_sample FROM unnest(found.memory_ids) AS given (memory_id)"
    "     WHERE found.near_cosines IS NULL OR given.memory_id <> ALL (found.near_ids)"
    "     UNION ALL"
    "     SELECT unnest(kept.sample), true FROM vectors.owner_statistics AS kept"
    "     WHERE kept.tenant_id = found.tenant_id AND kept.owner = %(sample_owner)s::text"
    "       AND found.row_count IS NULL"
    "   ) AS listed"
    # One index lookup per memory, whatever the planner estimates.
    "   CROSS JOIN LATERAL ("
    "     SELECT 1 - (stored.embedding <=> %(vector)s::halfvec) AS cosine FROM vectors.{table} AS stored"
    "     WHERE stored.tenant_id = found.tenant_id AND stored.memory_id = listed.memory_id OFFSET 0"
    "   ) AS compared"
    " ) AS theirs"
)
_REMOVE = sql.SQL(
    "DELETE FROM vectors.{table} WHERE tenant_id = %(tenant_id)s AND memory_id = ANY(%(ids)s::uuid[])"
)
_REMOVE_SOME = sql.SQL(
    "DELETE FROM vectors.{table} WHERE tenant_id = %(tenant_id)s AND memory_id IN ("
    " SELECT memory_id FROM vectors.{table} WHERE tenant_id = %(tenant_id)s LIMIT %(limit)s)"
)
_COSINES = sql.SQL(
    # One index lookup per memory, whatever the planner estimates.
    "SELECT array_agg(found.memory_id) AS memory_ids, array_agg(found.cosine) AS cosines"
    " FROM unnest(%(ids)s::uuid[]) AS given (memory_id)"
    " CROSS JOIN LATERAL ("
    "   SELECT memory_id, (1 - (embedding <=> %(vector)s::halfvec))::real AS cosine"
    "   FROM vectors.{table} AS stored"
    "   WHERE stored.tenant_id = %(tenant_id)s AND stored.memory_id = given.memory_id LIMIT 1"
    " ) AS found"
)
_VECTORS = sql.SQL(
    "SELECT stored.memory_id, halfvec_send(stored.embedding) AS embedding"
    " FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS given (memory_id, place)"
    " JOIN vectors.{table} AS stored"
    "   ON stored.tenant_id = %(tenant_id)s AND stored.memory_id = given.memory_id"
    " ORDER BY given.place"
)
# pgvector's binary format: the number of dimensions and an unused number, two bytes each, then the elements.
_VECTOR_HEAD_BYTES = 4
STATEMENTS_CACHED_MAX = 64


class ModelChanged(Exception):
    """The tenant is served by `model`, not by the one that the caller used. Not a failure."""

    def __init__(self, model: str) -> None:
        super().__init__(f"The embedding model has been changed to {model!r}.")
        self.model = model


@dataclass(frozen=True)
class VectorTable:
    """The table of one embedding model.

    While the model is being changed, `next_name` is the table of the next model. Memories that are stored
    during the change are listed for it.
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
    """The table to store a model's vectors in; the first use of a model creates it.

    Raises ModelChanged if another model serves the tenant, ConflictError if the stored vectors of the model
    have another number of dimensions.
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
    """The table that serves the tenant until the transaction ends; None before the first vector."""
    row = await transaction.first("vectors.in_use")
    return VectorTable.from_row(row) if row is not None else None


async def find_vectors(transaction: Transaction, model: str) -> VectorTable | None:
    """The table of a model, if it exists, whether it serves the tenant or not."""
    row = await transaction.first("vectors.find", {"model": model})
    return VectorTable(model, row["dimensions"], row["table_name"]) if row else None


async def make_vectors(transaction: Transaction, model: str, dimensions: int) -> VectorTable:
    """Create or find the table of the next model; ConflictError if its number of dimensions differs."""
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
    """The cosine similarity of memories to a vector; memories without a vector are left out."""
    async with transaction.connection.cursor(binary=True) as cursor:
        await cursor.execute(
            _COSINES.format(table=sql.Identifier(table.name)),
            {"tenant_id": transaction.tenant.id, "ids": IdArray(keys), "vector": HalfVector(vector)},
            # Not prepared: see Queries.rows_unprepared.
            prepare=False,
        )
        (row,) = await cursor.fetchall()
    return dict(zip(row["memory_ids"] or (), row["cosines"] or (), strict=True))


async def vectors_of(
    transaction: Transaction, table: VectorTable, ids: Sequence[UUID]
) -> tuple[list[UUID], Vectors]:
    """The vectors of memories, in the order of the ids, and the ids; memories without one are left out."""
    parameters = {"tenant_id": transaction.tenant.id, "ids": list(ids)}
    async with transaction.connection.cursor(binary=True) as cursor:
        statement = _VECTORS.format(table=sql.Identifier(table.name))
        await cursor.execute(statement, parameters, prepare=False)
        rows = await cursor.fetchall()
    element = np.dtype([("head", f"V{_VECTOR_HEAD_BYTES}"), ("vector", ">f2", (table.dimensions,))])
    found = np.frombuffer(b"".join(row["embedding"] for row in rows), dtype=element)
    return [row["memory_id"] for row in rows], found["vector"].astype(np.float32)


def table_name_of(model: str) -> str:
    """Name of the table that `mnemic.open_vector_table` creates for a model; it may not exist."""
    return f"model_{sha256(model.encode()).hexdigest()[:16]}"


@lru_cache(STATEMENTS_CACHED_MAX)
def with_vectors(storing: LiteralString, table_name: str) -> LiteralString:
    """A statement that stores memories of one owner and inserts the vectors of those that are new.

    `storing` returns one row, whose `memory_ids` are the new memories, or NULL. The statement contains the
    name of the table, so its plan can be cached; a function with the name as parameter plans in each call.
    """
    table = sql.Identifier(table_name)
    insert = _INSERT.format(table=table, owners=_ONE_OWNER, condition=_IF_STORED)
    return _WITH_VECTORS.format(storing=sql.SQL(storing), insert=insert).as_string()


@lru_cache(STATEMENTS_CACHED_MAX)
def with_cosines(finding: LiteralString, table_name: str) -> LiteralString:
    """A statement that finds memories and adds the cosines between them and `vector`.

    `finding` returns one row. `other_cosines` are those of its `memory_ids` that are not among its
    `near_ids`, whose cosines it knows (`near_cosines`). Unless it has compared all vectors of the owner
    (`row_count`), there are statistics of the cosines of a random sample of the vectors of `sample_owner`.
    """
    table = sql.Identifier(table_name)
    return _WITH_COSINES.format(finding=sql.SQL(finding), table=table).as_string()


async def insert_vectors(
    transaction: Transaction,
    table: VectorTable,
    ids: Sequence[UUID],
    owners: Sequence[str],
    vectors: Vectors,
    *,
    replace: bool = False,
) -> None:
    """Store one vector per memory. A memory that has one in this table keeps it, unless `replace` is set.

    While the model is being changed, the memories are listed for the next one.
    """
    if replace:
        await _remove(transaction, table.name, ids)
    insert = _INSERT.format(table=sql.Identifier(table.name), owners=_EACH_OWNER, condition=_ALWAYS)
    parameters = {
        "tenant_id": transaction.tenant.id,
        "ids": list(ids),
        "owners": list(owners),
        "vectors": HalfVectors(vectors),
    }
    await transaction.connection.execute(insert, parameters, prepare=False)
    if table.next_name is not None:
        listed = {"tenant_id": transaction.tenant.id, "ids": sorted(ids)}
        await transaction.execute("reembedding.mark", listed)


async def remove_vectors(transaction: Transaction, ids: Sequence[UUID]) -> None:
    """Delete the vectors of memories, of the serving model and of the next one."""
    table = await vectors_in_use(transaction)
    names = (table.name, table.next_name) if table is not None else ()
    for name in names:
        if name is not None:
            await _remove(transaction, name, ids)


async def _remove(transaction: Transaction, table_name: str, ids: Sequence[UUID]) -> None:
    statement = _REMOVE.format(table=sql.Identifier(table_name))
    await transaction.connection.execute(statement, {"tenant_id": transaction.tenant.id, "ids": list(ids)})


async def remove_some_vectors(transaction: Transaction, table: VectorTable, limit: int) -> int:
    """Delete up to `limit` of the tenant's vectors from a table; returns how many."""
    statement = _REMOVE_SOME.format(table=sql.Identifier(table.name))
    cursor = await transaction.connection.execute(
        statement, {"tenant_id": transaction.tenant.id, "limit": limit}
    )
    return cursor.rowcount


async def mark_for_embedding(transaction: Transaction, ids: Sequence[UUID], error: str) -> None:
    """Put memories that have no vector into the backlog, with the reason."""
    parameters = {"tenant_id": transaction.tenant.id, "ids": sorted(ids), "error": storable_error(error)}
    await transaction.execute("vectors.mark_backlog", parameters)


def storable_error(error: str) -> str:
    """The message of any error, shortened and cleaned so that PostgreSQL can store it."""
    return error[:ERROR_MAX_CHARACTERS].replace("\0", "").encode(errors="replace").decode()
