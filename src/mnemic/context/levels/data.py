"""JSON: its shape, its keys and first elements. JSON lines and tables: the first ones."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from mnemic.context.levels.excerpts import Excerpt
from mnemic.context.levels.sketch import Sketch, plural

JSON_CHARS_MAX = 2_000_000
NODES_MAX = 4_000
"""Values that are shown at most, however large the budget is."""
KEYS_MAX = 400
ROWS_SHOWN = 200

# Elements of a list, depth and characters of a string that are shown: the first that fits is taken.
_SETTINGS = (
    (40, 8, 400),
    (12, 7, 200),
    (6, 6, 120),
    (3, 6, 80),
    (2, 5, 60),
    (1, 5, 40),
    (1, 4, 24),
    (1, 2, 16),
)


def sketch_data(text: str) -> Sketch | None:
    """None if the text is not JSON and does not consist of lines of JSON."""
    value = _parse(text.strip()) if len(text) <= JSON_CHARS_MAX else None
    if not isinstance(value, dict | list):
        value = _rows(text)
    if not isinstance(value, dict | list) or not value:
        return None
    lines = text.count("\n") + 1
    keys = list(dict.fromkeys(_keys(value)))
    return Sketch(
        shape="data",
        title=_title(value),
        units=len(keys),
        excerpt=lambda chars: Excerpt(_fitting(value, chars), lines),
        outline=lambda chars: _fitting(value, chars),
        defined=tuple(keys),
    )


def _parse(text: str) -> Any:
    if not text.startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _rows(text: str) -> list[Any] | None:
    """Lines of JSON; the rest of the lines is counted, not parsed."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2 or not all(line.lstrip().startswith("{") for line in lines[:ROWS_SHOWN]):
        return None
    rows = [_parse(line.strip()) for line in lines[:ROWS_SHOWN] if len(line) <= JSON_CHARS_MAX // ROWS_SHOWN]
    if not rows or any(row is None for row in rows):
        return None
    return rows + [None] * max(0, len(lines) - len(rows))


def _title(value: Any) -> str:
    if isinstance(value, dict):
        return f"JSON object of {plural(len(value), 'key')}"
    return f"JSON list of {plural(len(value), 'element')}"


def _fitting(value: Any, chars: int) -> str:
    for elements, depth, string_chars in _SETTINGS:
        text = _rendered(value, elements, depth, string_chars)
        if len(text) <= chars:
            return text
    return text[:chars].rsplit(",", 1)[0] + "…" if chars > 8 else ""


def _rendered(value: Any, elements: int, depth: int, string_chars: int) -> str:
    left = NODES_MAX

    def render(item: Any, level: int) -> str:
        nonlocal left
        left -= 1
        if left < 0:
            return "…"
        if isinstance(item, dict):
            return _object(item, level, render) if level < depth else f"{{{len(item)} keys}}"
        if isinstance(item, list):
            return _list(item, level, render, elements) if level < depth else f"[{len(item)}]"
        text = json.dumps(item, ensure_ascii=False)
        return text if len(text) <= string_chars else f'{text[:string_chars]}…"'

    return render(value, 0)


def _object(item: dict[str, Any], level: int, render: Callable[[Any, int], str]) -> str:
    keys = list(item)[:KEYS_MAX]
    more = f", … {len(item) - len(keys)} more" if len(item) > len(keys) else ""
    return "{" + ", ".join(f"{key}: {render(item[key], level + 1)}" for key in keys) + more + "}"


def _list(item: list[Any], level: int, render: Callable[[Any, int], str], elements: int) -> str:
    more = f", … {len(item) - elements} more" if len(item) > elements else ""
    return "[" + ", ".join(render(each, level + 1) for each in item[:elements]) + more + "]"


def _keys(value: Any) -> Iterator[str]:
    pending, seen = [value], 0
    while pending and seen < NODES_MAX:
        item = pending.pop()
        seen += 1
        if isinstance(item, dict):
            yield from list(item)[:KEYS_MAX]
            pending.extend(list(item.values())[:KEYS_MAX])
        elif isinstance(item, list):
            pending.extend(item[:KEYS_MAX])
