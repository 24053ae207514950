"""Server-sent events, parsed as they arrive (https://html.spec.whatwg.org/multipage/server-sent-events.html).

An event ends with an empty line; lines end with LF, CR LF or CR. The bytes may be split anywhere. Each event
keeps the bytes that it came as, so that an event which nobody changes is passed on exactly: the raw bytes of
all events, and the rest at the end, are the stream. A comment or an empty block is an event without data.
"""

import re
from collections.abc import Iterator

from mnemic.proxy.protocol import ServerSentEvent

EVENT_MAX_BYTES = 64 * 1024**2
"""Longest event: a response that is larger in one event is no response of a model."""

_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_LONGEST_END_BYTES = 4
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLargeError(Exception):
    """An event exceeds `EVENT_MAX_BYTES`."""


class EventStream:
    """Splits a stream into events. `rest` is what no event has yet."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._is_first = True

    @property
    def rest(self) -> bytes:
        """Bytes of an event that is not complete."""
        return bytes(self._buffer)

    def feed(self, data: bytes) -> Iterator[ServerSentEvent]:
        """The events that these bytes complete."""
        self._buffer += data
        while (found := self._next_end()) is not None:
            raw = bytes(self._buffer[:found])
            del self._buffer[:found]
            self._searched = 0
            yield self._event(raw)
        if len(self._buffer) > EVENT_MAX_BYTES:
            raise EventTooLargeError

    def _next_end(self) -> int | None:
        """Where the first complete event ends; None if there is none yet."""
        found = _END.search(self._buffer, max(0, self._searched - _LONGEST_END_BYTES))
        self._searched = len(self._buffer)
        if found is None:
            return None
        is_open = found.end() == len(self._buffer) and self._buffer[-1:] == b"\r"
        # A CR at the end of the buffer may be the first half of CR LF.
        return None if is_open else found.end()

    def _event(self, raw: bytes) -> ServerSentEvent:
        text = raw
        if self._is_first:
            text = raw.removeprefix(_BYTE_ORDER_MARK)
            self._is_first = False
        return ServerSentEvent(*_fields(text), raw)


def _fields(text: bytes) -> tuple[str, bytes]:
    """Name and data of an event. Fields other than these two are not used by any API."""
    name, data = b"", []
    for line in _LINE_END.split(text):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
    return name.decode("utf-8", "replace"), b"\n".join(data)
