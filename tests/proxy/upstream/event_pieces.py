"""Server-sent events, and text in small pieces."""

import json
from typing import Any

SLICE_CHARS = 7


def event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def data_only(data: dict[str, Any]) -> bytes:
    """An event without a name, as Chat Completions sends them."""
    return f"data: {json.dumps(data)}\n\n".encode()


def slices(text: str) -> list[str]:
    """The text in pieces, at least one."""
    return [text[start : start + SLICE_CHARS] for start in range(0, len(text), SLICE_CHARS)] or [""]
