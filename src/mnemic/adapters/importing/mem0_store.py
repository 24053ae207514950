"""mem0's local store: the SQLite files of Qdrant's local mode, one per collection.

A point is a *pickle*, and unpickling an untrusted file can run any code. Therefore the unpickler here knows
no class and no function: for every name that a pickle asks for, it returns the same inert class, which
stores fields and does nothing. The wanted parts of a point, its id and its payload, consist of texts,
numbers, lists and mappings, which need no class.
"""

import io
import pickle
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from mnemic.adapters.importing.records import Record
from mnemic.errors import InvalidInputError

STORE_FILE = "storage.sqlite"
SQLITE_MAGIC = b"SQLite format 3\0"
POINT_MAX_BYTES = 16 << 20
"""Limit for a point: a long text with a vector of some thousand numbers has 100 KB."""

VALUES_MAX = 100_000
"""Limit for the values in a payload: a small pickle can expand to billions by references to itself."""

# Collections that hold no memories: entities that mem0 links to memories, and migrations.
BESIDE_SUFFIXES = ("_entities", "migrations")
# Internal fields of mem0's payload, and fields that its answers name differently.
OWN_FIELDS = ("data", "hash", "text_lemmatized", "attributed_to")
ANSWERED = (
    "user_id",
    "agent_id",
    "run_id",
    "actor_id",
    "role",
    "created_at",
    "updated_at",
    "expiration_date",
)


def find_stores(path: Path) -> list[Path]:
    """The files with memories: the path itself, or those in a Qdrant folder; otherwise empty."""
    if path.is_dir():
        found = [file for file in sorted(path.glob(f"collection/*/{STORE_FILE}")) if _is_memories(file)]
        return found or [file for file in [path / STORE_FILE] if file.is_file()]
    return [path] if path.is_file() and _starts_with(path, SQLITE_MAGIC) else []


def read_store(path: Path) -> Iterator[Record]:
    """The points of a collection, in the form of mem0's own answers."""
    try:
        # Different threads may read the next record, one at a time.
        with closing(sqlite3.connect(_read_only(path), uri=True, check_same_thread=False)) as store:
            for row_id, point in store.execute("SELECT rowid, point FROM points ORDER BY rowid"):
                yield Record(f"{path.parent.name}, point {row_id}", _answer(f"point {row_id}", point))
    except sqlite3.Error as error:
        raise InvalidInputError(
            f"{path} is not a local vector store of mem0: {error}. Give the folder of the vector store "
            "(by default /tmp/qdrant), not the history."
        ) from error


def _read_only(path: Path) -> str:
    return f"{path.resolve().as_uri()}?mode=ro"


def _is_memories(file: Path) -> bool:
    return not file.parent.name.endswith(BESIDE_SUFFIXES)


def _starts_with(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def _answer(place: str, point: object) -> dict[str, Any]:
    """A point in the form of mem0's answers."""
    if not isinstance(point, bytes) or len(point) > POINT_MAX_BYTES:
        raise InvalidInputError(f"{place}: a point is at most {POINT_MAX_BYTES:,} bytes long.")
    held = _unpickle(place, point).held
    payload = held.get("payload")
    if not isinstance(payload, dict) or _has_more_values(payload, VALUES_MAX):
        raise InvalidInputError(f"{place} has no payload, or one of more than {VALUES_MAX:,} values.")
    more = {name: value for name, value in payload.items() if name not in (*OWN_FIELDS, *ANSWERED)}
    return {
        "id": str(held.get("id")),
        "memory": payload.get("data"),
        **{name: payload.get(name) for name in ANSWERED},
        "metadata": more,
    }


class _InertObject:
    """Replaces every object of a pickle; keeps the fields of its state."""

    held: dict[str, Any]

    def __new__(cls, *arguments: object, **named: object) -> "_InertObject":
        """An object without fields; a pickle need not call `__init__`."""
        made = super().__new__(cls)
        made.held = {}
        return made

    def __init__(self, *arguments: object, **named: object) -> None:
        pass

    def __setstate__(self, state: object) -> None:
        fields = state.get("__dict__", state) if isinstance(state, dict) else None
        self.held = fields if isinstance(fields, dict) else {}


class _InertUnpickler(pickle._Unpickler):
    """An unpickler that resolves every name to `_InertObject`.

    It extends the unpickler written in Python: the one in C allocates gigabytes for a pickle of ten bytes
    that uses a large memo index.
    """

    def find_class(self, module: str, name: str) -> type[_InertObject]:
        """The inert class, for every name."""
        return _InertObject

    def persistent_load(self, persistent_id: object) -> _InertObject:
        """An inert object, for every persistent id."""
        return _InertObject()


def _unpickle(place: str, point: bytes) -> _InertObject:
    try:
        found = _InertUnpickler(io.BytesIO(point)).load()
    except Exception as error:
        raise InvalidInputError(f"{place} cannot be read: {type(error).__name__}: {error}.") from error
    if not isinstance(found, _InertObject):
        raise InvalidInputError(f"{place} is not a point of Qdrant.")
    return found


def _has_more_values(value: object, limit: int) -> bool:
    """Whether JSON expands to more values than this."""
    waiting, count = [value], 0
    while waiting and count <= limit:
        count += 1
        inner = waiting.pop()
        if isinstance(inner, dict):
            waiting += inner.values()
        elif isinstance(inner, list | tuple):
            waiting += inner[: limit + 1]
    return count > limit
