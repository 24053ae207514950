"""JSON in one form, for comparing and counting."""

import json
from typing import Any

CHARS_PER_TOKEN = 4


def without_breakpoints(value: Any) -> Any:
    """The value without `cache_control`, which does not change what the model reads."""
    if isinstance(value, dict):
        return {key: without_breakpoints(inner) for key, inner in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [without_breakpoints(inner) for inner in value]
    return value


def canonical(value: Any) -> str:
    return json.dumps(without_breakpoints(value), sort_keys=True)


def tokens(value: Any) -> int:
    """A rough count, at least 1."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return max(1, len(text) // CHARS_PER_TOKEN)
