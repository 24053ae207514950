"""Vectors as query parameters: in pgvector's binary format, many in one array.

This avoids printing and parsing text, and a Python object per number. A query casts the parameter
(``::halfvec``, ``::halfvec[]``). A binary array contains the oid of its element type, which differs between
databases; it is read once when a database is opened.
"""

import numpy as np
import numpy.typing as npt
from psycopg import AsyncConnection
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format
from psycopg.rows import DictRow
from psycopg.types import TypeInfo

from mnemic.sql import query

# One dimension, no NULLs, element type, length, first index; four bytes each.
_HEAD_BYTES = 20


class HalfVectors:
    """Vectors, the rows of an array, as one PostgreSQL array parameter of type halfvec[]."""

    def __init__(self, vectors: npt.NDArray[np.float32]) -> None:
        self.vectors = vectors


class HalfVector:
    """One vector as a PostgreSQL parameter of type halfvec."""

    def __init__(self, vector: npt.NDArray[np.float32]) -> None:
        self.vector = vector


class HalfVectorsDumper(Dumper):
    """Serialises vectors; the query casts the parameter to an array."""

    format = Format.BINARY

    def dump(self, obj: HalfVectors) -> Buffer | None:
        """The binary format."""
        assert self.connection is not None, "vectors are written for a connection"
        halfvec = self.connection.adapters.types["halfvec"]
        count, dimensions = obj.vectors.shape
        rows = np.zeros(count, dtype=_row_type(dimensions))
        rows["bytes"] = 4 + 2 * dimensions
        rows["dimensions"] = dimensions
        rows["values"] = obj.vectors
        head = np.array([1, 0, halfvec.oid, count, 1], dtype=">i4")
        return head.tobytes() + rows.tobytes()


class HalfVectorDumper(Dumper):
    """The same for one vector."""

    format = Format.BINARY

    def dump(self, obj: HalfVector) -> Buffer | None:
        """The binary format."""
        (dimensions,) = obj.vector.shape
        return np.array([dimensions, 0], dtype=">i2").tobytes() + obj.vector.astype(">f2").tobytes()


def _row_type(dimensions: int) -> np.dtype[np.void]:
    """Layout of a vector in a binary array: length in bytes, dimensions, two unused bytes, numbers."""
    return np.dtype(
        [("bytes", ">i4"), ("dimensions", ">i2"), ("unused", ">i2"), ("values", ">f2", (dimensions,))]
    )


async def find_halfvec(connection: AsyncConnection[DictRow]) -> TypeInfo:
    """The type halfvec of this database."""
    cursor = await connection.execute(query("session.half_vectors"))
    row = await cursor.fetchone()
    assert row is not None, "a migrated database has pgvector"
    return TypeInfo("halfvec", row["oid"], row["array_oid"])


def use_half_vectors(connection: AsyncConnection[DictRow], halfvec: TypeInfo) -> None:
    """Register the dumpers on a new connection."""
    halfvec.register(connection)
    connection.adapters.register_dumper(HalfVectors, HalfVectorsDumper)
    connection.adapters.register_dumper(HalfVector, HalfVectorDumper)
