"""Limits on the size of a tool result. A result says what it leaves out.

Clients truncate or refuse long results (Claude Code at 25,000 tokens, structured content and text together),
and a model's context is worth more than the fiftieth hit.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

RESULT_MAX_CHARACTERS = 40_000
"""Limit for the text of a result, and for its structured content: about 10,000 tokens of English each."""

LISTED_MAX_CHARACTERS = 36_000
"""Limit for the items in a result; the rest is for the fields around them."""

Item = TypeVar("Item")


def truncated(text: str, max_characters: int = RESULT_MAX_CHARACTERS) -> str:
    """The text, or its beginning and a note on its length."""
    if len(text) <= max_characters:
        return text
    note = f"… [cut here: the text has {len(text):,} characters]"
    return text[: max(0, max_characters - len(note))] + note


def json_size(value: Any) -> int:
    """The size of a value as JSON, in characters: quotes and line ends count twice."""
    return len(json.dumps(value, ensure_ascii=False, default=str))


def truncated_as_json(text: str, max_characters: int) -> str:
    """The text, or as much of its beginning as fits into this many characters of JSON."""
    cut_at = max_characters
    while json_size(truncated(text, cut_at)) > max_characters:
        cut_at //= 2
    return truncated(text, cut_at)


def fitting(
    items: Iterable[Item],
    size: Callable[[Item], int],
    max_characters: int = LISTED_MAX_CHARACTERS,
) -> list[Item]:
    """The first items that fit together; items are never split."""
    kept: list[Item] = []
    left = max_characters
    for item in items:
        left -= size(item)
        if left < 0:
            break
        kept.append(item)
    return kept
