"""JSON records from a file of any size, one at a time.

An export is an array, an object that holds an array (`{"results": […]}`), or JSON lines. One reader handles
all of them: a top-level value is an array of records, an object with an array of records under one of the
names in `wrappers`, or a record; further values may follow. The reader holds only one record in memory, whose
size is limited.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from mnemic.errors import InvalidInputError

RECORD_MAX_CHARACTERS = 64_000_000
"""Limit for one record, which bounds the memory in use: a conversation of 64 MB."""

CHUNK_CHARACTERS = 1 << 16
# A value that is cut off inside a literal, a number or an escape fails this close to the end of the buffer.
CUT_OFF_MAX_CHARACTERS = 16

_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Record:
    """One object of a file; `place` identifies it in messages."""

    place: str
    value: dict[str, Any]


def read_records(file: TextIO, name: str, *, wrappers: Collection[str] = ()) -> Iterator[Record]:
    """The objects of a file; InvalidInputError names the record and the line that is not valid JSON."""
    text = _Text(file, name)
    while first := text.peek():
        if first == "[":
            yield from _array(text)
        elif first == "{":
            yield from _object(text, wrappers)
        else:
            raise text.error("an object or an array was expected")
        if text.peek() == ",":
            raise text.error("a comma stands where nothing or another record was expected")


def _array(text: "_Text") -> Iterator[Record]:
    text.take("[")
    if text.peek() == "]":
        text.take("]")
        return
    while True:
        if text.peek() != "{":
            raise text.error("every element of the array must be an object")
        yield text.record(text.value())
        if text.peek() == "]":
            text.take("]")
            return
        text.take(",")


def _object(text: "_Text", wrappers: Collection[str]) -> Iterator[Record]:
    """The records in an object's array, or the object itself if it has none."""
    if not wrappers:
        yield text.record(text.value())
        return
    found: dict[str, Any] = {}
    is_wrapper = False
    characters = 0
    text.take("{")
    while text.peek() != "}":
        if text.peek() != '"':
            raise text.error("a name in double quotes was expected")
        key = text.value()
        text.take(":")
        if key in wrappers and text.peek() == "[":
            is_wrapper = True
            yield from _array(text)
        else:
            began = text.position
            found[key] = text.value()
            characters += text.position - began
            if characters > RECORD_MAX_CHARACTERS:
                raise text.too_long()
        if text.peek() != "}":
            text.take(",")
    text.take("}")
    if not is_wrapper:
        yield text.record(found)


class _Text:
    """A buffer over a text file that discards what was consumed."""

    def __init__(self, file: TextIO, name: str) -> None:
        self._file = file
        self._name = name
        self._held = ""
        self._at = 0
        self._lines_gone = 0
        self._characters_gone = 0
        self._count = 0
        self._has_ended = False

    def peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            while self._at < len(self._held):
                if not self._held[self._at].isspace() and self._held[self._at] != "\ufeff":
                    return self._held[self._at]
                self._at += 1
            if not self._read(CHUNK_CHARACTERS):
                return ""

    def take(self, expected: str) -> None:
        """Consume the expected character."""
        if self.peek() != expected:
            raise self.error(f"{expected!r} was expected")
        self._at += 1

    def value(self) -> Any:
        """The JSON value at the current position."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                self._read_on(error)
            except (ValueError, RecursionError) as error:
                raise self.error("a number is too long or values are nested too deeply") from error
            else:
                # A number at the end of the buffer may continue.
                if end < len(self._held) or not self._read(CHUNK_CHARACTERS):
                    self._at = end
                    return value

    @property
    def position(self) -> int:
        """The number of characters that were consumed."""
        return self._characters_gone + self._at

    def record(self, value: dict[str, Any]) -> Record:
        """The record, with its place."""
        self._count += 1
        return Record(f"{self._name}, record {self._count}", value)

    def error(self, what: str) -> InvalidInputError:
        """An error at the current position."""
        line = self._lines_gone + self._held.count("\n", 0, self._at) + 1
        return InvalidInputError(
            f"{self._name} is not the expected JSON at record {self._count + 1}, line {line}: {what}."
        )

    def too_long(self) -> InvalidInputError:
        """An error about the size of a record."""
        return self.error(f"a record has more than {RECORD_MAX_CHARACTERS:,} characters")

    def _read_on(self, error: json.JSONDecodeError) -> None:
        """Read more if the value was cut off at the end of the buffer; otherwise it is malformed."""
        is_cut_off = error.msg.startswith("Unterminated") or (
            error.pos >= len(self._held) - CUT_OFF_MAX_CHARACTERS
        )
        length = len(self._held) - self._at
        if is_cut_off and length > RECORD_MAX_CHARACTERS:
            raise self.too_long()
        # Double the size each time, so that a long record is parsed a few times, not once per chunk.
        if not is_cut_off or not self._read(max(CHUNK_CHARACTERS, length)):
            self._at = min(error.pos, len(self._held))
            raise self.error(error.msg) from None

    def _read(self, characters: int) -> bool:
        """Read more of the file and discard what was consumed; False at the end."""
        if self._has_ended:
            return False
        try:
            more = self._file.read(characters)
        except UnicodeDecodeError as error:
            raise self.error(f"it is not UTF-8 ({error.reason})") from None
        self._has_ended = not more
        self._lines_gone += self._held.count("\n", 0, self._at)
        self._characters_gone += self._at
        self._held, self._at = self._held[self._at :] + more, 0
        return bool(more)
