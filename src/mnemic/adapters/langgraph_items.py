"""How an item of a LangGraph store is stored in Mnemic; the store and the importer share this.

The item is a *state document* whose key is made of its namespace and key: `get` is exact, and a list goes by
prefix. Its text is a *memory* for search, with a tag for each prefix of the namespace, so that a search below
a prefix is one filter. The document is authoritative: a memory without its document is not returned.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from mnemic.errors import InvalidInputError

KEY_HEAD = "langgraph:"
TAG_HEAD = "langgraph:"
TAG_DIGITS = 32
METADATA_FIELD = "langgraph"
MINUTE_S = 60.0
TTL_MAX_MINUTES = 100 * 366 * 24 * 60


def state_key(namespace: Sequence[str], key: str) -> str:
    """The key of an item's document."""
    return f"{prefix_key(namespace)}/{_escaped(key)}"


def prefix_key(namespace: Sequence[str]) -> str:
    """The prefix of the keys of all documents in and below a namespace."""
    return KEY_HEAD + "".join(f"{_escaped(label)}/" for label in namespace)


def prefix_tag(namespace: Sequence[str]) -> str:
    """The tag of all memories in and below a namespace; hashed, because tags are short and lower case."""
    return TAG_HEAD + sha256(prefix_key(namespace).encode()).hexdigest()[:TAG_DIGITS]


def as_memory(namespace: Sequence[str], key: str, text: str) -> dict[str, Any]:
    """The memory of an item, for `retain`."""
    return {
        # The path makes items with the same text different memories.
        "content": f"{text}\n({'/'.join((*namespace, key))})",
        "tags": [prefix_tag(namespace[:depth]) for depth in range(len(namespace) + 1)],
        "metadata": {METADATA_FIELD: {"namespace": list(namespace), "key": key}},
    }


def as_document(
    namespace: Sequence[str], key: str, value: Mapping[str, Any], memory_id: object | None
) -> dict[str, Any]:
    """The document of an item. Its times are those of the state document, unless it has its own."""
    return {
        "namespace": list(namespace),
        "key": key,
        "value": dict(value),
        "memory_id": str(memory_id) if memory_id is not None else None,
    }


def with_ttl(document: dict[str, Any], ttl_minutes: float | None, now: datetime) -> dict[str, Any]:
    """The document with an expiry this many minutes from now; None means never."""
    if ttl_minutes is None:
        return document
    if not 0 < ttl_minutes <= TTL_MAX_MINUTES:
        raise InvalidInputError(f"ttl must be more than 0 and at most {TTL_MAX_MINUTES:,} minutes.")
    expires_at = now + timedelta(seconds=ttl_minutes * MINUTE_S)
    return {**document, "ttl_minutes": ttl_minutes, "expires_at": expires_at.isoformat()}


def is_expired(document: Mapping[str, Any], now: datetime) -> bool:
    """Whether a document has expired."""
    expires_at = document.get("expires_at")
    return expires_at is not None and datetime.fromisoformat(expires_at) <= now


def whole_text(value: Mapping[str, Any]) -> str:
    """The text of a value for search: its only text, or a line per field."""
    leaves = list(_leaves("", value))
    if len(leaves) == 1:
        return leaves[0][1]
    return "\n".join(f"{path}: {leaf}" for path, leaf in leaves)


def _leaves(path: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(f"{path}.{name}" if path else str(name), inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(path, inner)
    elif value is not None and str(value).strip():
        yield path, str(value)


def _escaped(label: str) -> str:
    """A label without separators."""
    return label.replace("%", "%25").replace("/", "%2F")
