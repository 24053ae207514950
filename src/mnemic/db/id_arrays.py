"""Arrays of ids, each id as its 16 bytes.

A search reads the ids of hundreds of candidates to return a few. Creating, hashing and serialising a `UUID`
for each takes longer than the database takes to find it; bytes cost next to nothing, and sort as ids do.
"""

from collections.abc import Iterable
from struct import pack

import numpy as np
from psycopg.abc import AdaptContext
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format

Key = bytes
"""The bytes of a memory's id."""

_UUID_OID = 2950
_UUID_ARRAY_OID = 2951
# One dimension, no NULLs, element type; then the length, and the first index.
_HEAD = pack("!iii", 1, 0, _UUID_OID)
_EMPTY = pack("!iii", 0, 0, _UUID_OID)
_HEAD_BYTES = 20
_LENGTH = pack("!i", 16)
_ITEM = np.dtype([("length", ">i4"), ("id", "V16")])


class IdArray:
    """Ids as one PostgreSQL array parameter of type uuid[]."""

    def __init__(self, keys: Iterable[Key]) -> None:
        items = [_LENGTH + key for key in keys]
        self.binary = b"".join((_HEAD, pack("!ii", len(items), 1), *items)) if items else _EMPTY


class IdArrayDumper(Dumper):
    """Passes the bytes unchanged."""

    format = Format.BINARY
    oid = _UUID_ARRAY_OID

    def dump(self, obj: IdArray) -> Buffer | None:
        """The binary format."""
        return obj.binary


class IdArrayLoader(Loader):
    """An array of ids, none of them NULL, as a list of keys."""

    format = Format.BINARY

    def load(self, data: Buffer) -> list[Key]:
        """The keys in their order."""
        if len(data) <= _HEAD_BYTES:
            return []
        keys: list[Key] = np.frombuffer(data, _ITEM, offset=_HEAD_BYTES)["id"].tolist()
        return keys


def use_keys(connection: AdaptContext) -> None:
    """Let a connection accept `IdArray` and, in binary format, return arrays of ids as keys."""
    if (adapters := connection.adapters) is not None:
        adapters.register_dumper(IdArray, IdArrayDumper)
        adapters.register_loader(_UUID_ARRAY_OID, IdArrayLoader)
