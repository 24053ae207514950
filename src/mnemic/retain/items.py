"""Check the items of a call and turn them into drafts of memories.

An item is a string, a message (a mapping with `role` and `content`), or a mapping with more fields. A field
that an item does not have comes from the defaults of the call. If neither has a category, it is `episodic`
for messages and turns of a conversation, and `factual` otherwise.

Items and drafts have no slots: large calls pickle them into a file (`Spool`), and pickling a frozen dataclass
with slots takes three times as long.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from mnemic.db.json_value import as_jsonb_object
from mnemic.errors import InvalidInputError
from mnemic.retain.split import split
from mnemic.types.checks import check_choice, check_evidence, check_share, check_text, check_time
from mnemic.types.identity import new_id
from mnemic.types.memory import CATEGORIES, CONTENT_MAX_CHARACTERS, PROVENANCES, SOURCES
from mnemic.types.scope import check_name
from mnemic.types.tags import check_tags

ROLE_MAX_CHARACTERS = 64
EXTERNAL_ID_MAX_CHARACTERS = 512
METADATA_MAX_DEPTH = 100

ItemInput = str | Mapping[str, Any]


@dataclass(frozen=True)
class Item:
    """A checked item. API, database and documentation use the same field names."""

    content: str
    category: str = "factual"
    source: str = "user_provided"
    provenance: str = "witnessed"
    confidence: float = 1.0
    at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    conversation: str | None = None
    role: str | None = None
    name: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    anchored: bool = False
    evidence: tuple[str, ...] = ()
    external_id: str | None = None


@dataclass(frozen=True)
class Chunk:
    """One row to insert: the content of an item, or a part of it."""

    memory_id: UUID
    content: str
    index: int | None
    content_hash: bytes | None


@dataclass(frozen=True)
class Draft:
    """An item, its index in the call, and the rows that it becomes."""

    index: int
    item: Item
    chunks: tuple[Chunk, ...]
    whole_hash: bytes | None


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "content": lambda value: check_text("content", value),
    "category": lambda value: check_choice("category", value, CATEGORIES),
    "source": lambda value: check_choice("source", value, SOURCES),
    "provenance": lambda value: check_choice("provenance", value, PROVENANCES),
    "confidence": lambda value: check_share("confidence", value),
    "at": lambda value: check_time("at", value),
    "valid_from": lambda value: check_time("valid_from", value),
    "valid_to": lambda value: check_time("valid_to", value),
    "expires_at": lambda value: check_time("expires_at", value),
    "conversation": lambda value: check_name("conversation", value),
    "role": lambda value: check_text("role", value, max_characters=ROLE_MAX_CHARACTERS),
    "name": lambda value: check_name("name", value),
    "tags": check_tags,
    "metadata": lambda value: _check_metadata(value),
    "anchored": lambda value: _check_anchored(value),
    "evidence": lambda value: tuple(check_evidence(value)),
    "external_id": lambda value: check_text("external_id", value, max_characters=EXTERNAL_ID_MAX_CHARACTERS),
}
assert set(_CHECKS) == {each.name for each in fields(Item)}


def check_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Check fields of an item; fields that are None count as not given."""
    return {name: _CHECKS[name](value) for name, value in given.items() if value is not None}


def check_items(items: Iterable[ItemInput], defaults: Mapping[str, Any]) -> Iterator[Draft]:
    """Yield a draft per item; InvalidInputError names the index of the first invalid item."""
    checked_defaults = check_fields(defaults)
    for index, given in enumerate(items):
        try:
            yield _draft(index, _item(given, checked_defaults))
        except InvalidInputError as error:
            raise InvalidInputError(f"Item {index}: {error} Nothing was stored.") from None


def as_items(content: object) -> Iterable[ItemInput]:
    """Wrap a single string or mapping into a list."""
    if isinstance(content, str | Mapping):
        return [content]
    if isinstance(content, bytes | bytearray) or not isinstance(content, Iterable):
        raise InvalidInputError(
            f"What to retain is a text, a mapping, or a list of them, not {type(content).__name__}."
        )
    return content


def _item(given: object, defaults: Mapping[str, Any]) -> Item:
    if isinstance(given, str):
        given = {"content": given}
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"an item is a text or a mapping, not {type(given).__name__}.")
    unknown = [key for key in given if key not in _CHECKS]
    if unknown:
        raise InvalidInputError(f"unknown field {unknown[0]!r}; the fields are {', '.join(_CHECKS)}.")
    values = {**defaults, **check_fields(given)}
    if "content" not in values:
        raise InvalidInputError("content is missing.")
    if "category" not in values and ("role" in values or "conversation" in values):
        values["category"] = "episodic"
    item = Item(**values)
    if item.valid_from is not None and item.valid_to is not None and item.valid_to <= item.valid_from:
        raise InvalidInputError("valid_to must be after valid_from.")
    return item


def _check_metadata(value: object) -> dict[str, Any]:
    if _is_deeper(value, METADATA_MAX_DEPTH):
        raise InvalidInputError(f"metadata is nested more than {METADATA_MAX_DEPTH} levels deep.")
    as_jsonb_object("metadata", value)
    assert isinstance(value, Mapping), "only a mapping becomes a JSON object"
    return dict(value)


def _is_deeper(value: object, depth: int) -> bool:
    """Whether JSON is nested deeper than `depth`; very deep values cannot be copied or pickled."""
    level = [value]
    for _ in range(depth):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _check_anchored(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInputError(f"anchored must be True or False, not {type(value).__name__}.")
    return value


def _draft(index: int, item: Item) -> Draft:
    if len(item.content) <= CONTENT_MAX_CHARACTERS:
        whole_hash = None
        parts: list[tuple[int | None, str]] = [(None, item.content)]
    else:
        whole_hash = sha256(item.content.encode()).digest()
        parts = list(enumerate(split(item.content)))
    chunks = tuple(
        Chunk(new_id(), part, chunk_index, _content_hash(item, part, whole_hash, chunk_index))
        for chunk_index, part in parts
    )
    return Draft(index, item, chunks, whole_hash)


def _content_hash(
    item: Item, content: str, whole_hash: bytes | None, chunk_index: int | None
) -> bytes | None:
    """The same as `mnemic.content_hash` in the database; None for a turn, whose position is not known yet."""
    if item.category == "episodic" and item.conversation is not None:
        return None
    chunk = f"chunk\n{whole_hash.hex()}\n{chunk_index}" if whole_hash is not None else ""
    return sha256(f"{chunk}\n{content}".encode()).digest()
