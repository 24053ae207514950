"""JSON that comes from callers: checked before it is stored, so that the database never has to refuse it."""

import json
import re
from collections.abc import Mapping
from typing import Any

from psycopg.types.json import Jsonb

from mnemic.errors import InvalidInputError

JSON_MAX_BYTES = 1 << 20

# JSON writes NUL as \\u0000; behind an odd number of backslashes it is one, behind an even number just text.
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def as_jsonb(field: str, value: Any, *, max_bytes: int = JSON_MAX_BYTES) -> Jsonb:
    """The value ready to be stored; an error that names `field` if it is not JSON or too large."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"{field} must be JSON: {error}.") from None
    if size > max_bytes:
        raise InvalidInputError(f"{field} is {size:,} bytes as JSON; the limit is {max_bytes:,}.")
    if _ESCAPED_NUL.search(text):
        raise InvalidInputError(f"{field} must not contain NUL characters.")
    return Jsonb(value, dumps=lambda _: text)


def as_jsonb_object(field: str, value: object, *, max_bytes: int = JSON_MAX_BYTES) -> Jsonb:
    """The same for a value that must be a JSON object."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{field} must be a mapping, not {type(value).__name__}.")
    if not all(isinstance(key, str) for key in value):
        raise InvalidInputError(f"{field} must have text as keys.")
    return as_jsonb(field, dict(value), max_bytes=max_bytes)
