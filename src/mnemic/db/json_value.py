"""Checks JSON of callers before it is stored, so that the database never has to refuse it."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.types.json import Jsonb

from mnemic.errors import InvalidInputError

JSON_MAX_BYTES = 1 << 20

# JSON escapes NUL as \\u0000. After an even number of further backslashes it is NUL, otherwise plain text.
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


# One encoder: `json.dumps` creates a new one for each call with options.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def as_jsonb(field: str, value: Any, *, max_bytes: int = JSON_MAX_BYTES) -> Jsonb:
    """The value as a parameter; InvalidInputError that names `field` if it is not JSON or too large."""
    return _ready(_checked(field, value, max_bytes))


def as_jsonb_object(field: str, value: object, *, max_bytes: int = JSON_MAX_BYTES) -> Jsonb:
    """The same for a value that must be a JSON object."""
    return _ready(_checked_object(field, value, max_bytes))


def as_jsonb_objects(field: str, values: Sequence[object], *, max_bytes: int = JSON_MAX_BYTES) -> Jsonb:
    """The same for a list of objects, stored as one array; `max_bytes` is for each of them."""
    texts = [_checked_object(f"{field} {number}", value, max_bytes) for number, value in enumerate(values)]
    return _ready(f"[{','.join(texts)}]")


def _checked_object(field: str, value: object, max_bytes: int) -> str:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{field} must be a mapping, not {type(value).__name__}.")
    if not all(isinstance(key, str) for key in value):
        raise InvalidInputError(f"{field} must have text as keys.")
    return _checked(field, dict(value), max_bytes)


def _checked(field: str, value: Any, max_bytes: int) -> str:
    try:
        text = _encode(value)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"{field} must be JSON: {error}.") from None
    if size > max_bytes:
        raise InvalidInputError(f"{field} is {size:,} bytes as JSON; the limit is {max_bytes:,}.")
    if _ESCAPED_NUL.search(text):
        raise InvalidInputError(f"{field} must not contain NUL characters.")
    return text


def _ready(text: str) -> Jsonb:
    return Jsonb(None, dumps=lambda _: text)
