"""Where the elements of a list are in a JSON text, to recognise a text that repeats them by its bytes.

Works on text that was parsed before: it is valid JSON. The scanner is the one of the standard library.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class NoSpansError(ValueError):
    """The text holds no such list, holds it twice, or is not UTF-8."""


@dataclass(frozen=True, slots=True)
class ListSpan:
    """A list that is a field of an object. Positions count bytes."""

    ends: tuple[int, ...]
    """Where each element ends."""
    end: int
    """Where the list ends: the position of its closing bracket."""


def list_span(data: bytes, field: str) -> ListSpan:
    """The list in a field of the object that is the whole text; NoSpansError if there is not exactly one."""
    text = _text(data)
    found: tuple[list[int], int] | None = None
    position = _next(text, 0)
    if text[position : position + 1] != "{":
        raise NoSpansError
    while text[position] != "}":
        name, position = _value(text, _next(text, position + 1))
        position = _next(text, _next(text, position) + 1)
        if name == field:
            if found is not None or text[position] != "[":
                raise NoSpansError
            found = _elements(text, position + 1)
            position = found[1] + 1
        else:
            _, position = _value(text, position)
        position = _next(text, position)
    if found is None:
        raise NoSpansError
    ends, end = found
    *sizes, size = _byte_positions(text, [*ends, end])
    return ListSpan(tuple(sizes), size)


def element_ends(data: bytes) -> tuple[int, ...]:
    """Where elements end that follow others in a list: the text is a comma, an element, a comma, …"""
    text = _text(data)
    position = _next(text, 0)
    if position == len(text):
        return ()
    ends, _ = _elements(text, position + 1)
    return tuple(_byte_positions(text, ends))


def _elements(text: str, position: int) -> tuple[list[int], int]:
    """Where the elements from a position on end, and where the list or the text ends."""
    ends: list[int] = []
    position = _next(text, position)
    while position < len(text) and text[position] != "]":
        _, position = _value(text, position)
        ends.append(position)
        position = _next(text, position)
        if text[position : position + 1] == ",":
            position = _next(text, position + 1)
    return ends, position


def _value(text: str, position: int) -> tuple[object, int]:
    try:
        return _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError) as error:
        raise NoSpansError from error


def _next(text: str, position: int) -> int:
    """The position of the next character that is no space."""
    found = _SPACE.match(text, position)
    return found.end() if found is not None else position


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise NoSpansError from error


def _byte_positions(text: str, positions: list[int]) -> Iterator[int]:
    """Positions in UTF-8; they ascend."""
    if text.isascii():
        yield from positions
        return
    before, size = 0, 0
    for position in positions:
        size += len(text[before:position].encode())
        before = position
        yield size
