"""JSON records out of a file of any size, one at a time.

Exports come as an array, as an object that holds an array (`{"results": […]}`), or as JSON lines. One reader
takes all of them: a value at the top is an array of records, an object with an array of records under one of
the names in `wrappers`, or a record itself; and another value may follow. It holds no more of the file than
one record, which has a limit.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from mnemic.errors import InvalidInputError

RECORD_MAX_CHARACTERS = 64_000_000
"""Longest record: a conversation of 64 MB. Longer ones are an error, not a way to fill the memory."""

CHUNK_CHARACTERS = 1 << 16
# What is cut off inside a literal, a number or an escape fails this close to the end of what was read.
CUT_OFF_MAX_CHARACTERS = 16

_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Record:
    """One object of a file; `place` says which one, for messages."""

    place: str
    value: dict[str, Any]


def read_records(file: TextIO, name: str, *, wrappers: Collection[str] = ()) -> Iterator[Record]:
    """The objects of a file; InvalidInputError names the record and the line where it is no JSON."""
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
    """The records in an object's array, or the object itself if it holds none."""
    if not wrappers:
        yield text.record(text.value())
        return
    found: dict[str, Any] = {}
    is_wrapper = False
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
            found[key] = text.value()
        if text.peek() != "}":
            text.take(",")
    text.take("}")
    if not is_wrapper:
        yield text.record(found)


class _Text:
    """A file's characters, of which those that were taken are let go."""

    def __init__(self, file: TextIO, name: str) -> None:
        self._file = file
        self._name = name
        self._held = ""
        self._at = 0
        self._lines_gone = 0
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
        """Go past a character that must be there."""
        if self.peek() != expected:
            raise self.error(f"{expected!r} was expected")
        self._at += 1

    def value(self) -> Any:
        """The JSON value that begins here."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                self._read_on(error)
            except (ValueError, RecursionError) as error:
                raise self.error("a number is too long or values are nested too deeply") from error
            else:
                # A number at the end of what was read may go on.
                if end < len(self._held) or not self._read(CHUNK_CHARACTERS):
                    self._at = end
                    return value

    def record(self, value: dict[str, Any]) -> Record:
        """A record with its place."""
        self._count += 1
        return Record(f"{self._name}, record {self._count}", value)

    def error(self, what: str) -> InvalidInputError:
        """An error at the place where reading stands."""
        line = self._lines_gone + self._held.count("\n", 0, self._at) + 1
        return InvalidInputError(
            f"{self._name} is not the JSON that was expected, at record {self._count + 1}, line {line}: "
            f"{what}."
        )

    def _read_on(self, error: json.JSONDecodeError) -> None:
        """Read more if the value was cut off by the end of what was read; else it is malformed."""
        is_cut_off = error.msg.startswith("Unterminated") or (
            error.pos >= len(self._held) - CUT_OFF_MAX_CHARACTERS
        )
        length = len(self._held) - self._at
        if is_cut_off and length > RECORD_MAX_CHARACTERS:
            raise self.error(f"a record has more than {RECORD_MAX_CHARACTERS:,} characters")
        # Twice as much each time: a long record is parsed a few times, not once per chunk.
        if not is_cut_off or not self._read(max(CHUNK_CHARACTERS, length)):
            self._at = min(error.pos, len(self._held))
            raise self.error(error.msg) from None

    def _read(self, characters: int) -> bool:
        """Hold more of the file and let go what was taken; False at the end."""
        if self._has_ended:
            return False
        try:
            more = self._file.read(characters)
        except UnicodeDecodeError as error:
            raise self.error(f"it is not UTF-8 ({error.reason})") from None
        self._has_ended = not more
        self._lines_gone += self._held.count("\n", 0, self._at)
        self._held, self._at = self._held[self._at :] + more, 0
        return bool(more)
