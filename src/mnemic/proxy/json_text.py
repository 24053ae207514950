"""JSON as the proxy reads and writes it.

orjson is quick and strict. Clients and providers are not always: half of a surrogate pair is not Unicode,
but streams are sometimes split there. The standard library reads and writes such text unchanged.
"""

import json
from typing import Any

import orjson


def load_json(data: bytes | str) -> Any:
    """The value of a JSON text; ValueError if it is none."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data)


def dump_json(value: Any) -> bytes:
    """Compact JSON of a value that `load_json` gave."""
    try:
        return orjson.dumps(value)
    except TypeError:
        # Integers over 64 bits and halves of surrogate pairs.
        return json.dumps(value, separators=(",", ":")).encode()


def load_object(text: object) -> dict[str, Any]:
    """The object of a JSON text, such as arguments of a call; empty if it is none."""
    if not isinstance(text, str):
        return {}
    try:
        value = load_json(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def event_bytes(value: Any, *, name: str = "") -> bytes:
    """A server-sent event that holds a JSON value."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + dump_json(value) + b"\n\n"
