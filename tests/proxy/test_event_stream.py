"""A stream gives the same events and the same bytes, wherever it is split."""

from mnemic.proxy.event_stream import EventStream
from mnemic.proxy.protocol import ServerSentEvent

STREAM = (
    b'\xef\xbb\xbfevent: one\ndata: {"a": 1}\n\n'
    b": a comment\n\n"
    b"event: two\r\ndata: first\r\ndata: second \xe2\x82\xac\r\n\r\n"
    b"data:three\r\rid: 4\ndata: four\n\r\n"
    b"data: [DONE]\n\n"
    b"data: never ended"
)
EVENTS = [
    ("one", b'{"a": 1}'),
    ("", b""),
    ("two", b"first\nsecond \xe2\x82\xac"),
    ("", b"three"),
    ("", b"four"),
    ("", b"[DONE]"),
]


def fed(*pieces: bytes) -> tuple[list[ServerSentEvent], bytes]:
    stream = EventStream()
    return [event for piece in pieces for event in stream.feed(piece)], stream.rest


def check(*pieces: bytes) -> None:
    events, rest = fed(*pieces)
    assert [(event.name, event.data) for event in events] == EVENTS
    assert b"".join(event.raw for event in events) + rest == STREAM
    assert rest == b"data: never ended"


def test_a_stream_may_be_split_at_every_byte() -> None:
    check(STREAM)
    check(*(bytes([byte]) for byte in STREAM))
    for first in range(len(STREAM) + 1):
        check(STREAM[:first], STREAM[first:])
        for second in range(first, min(first + 5, len(STREAM)) + 1):
            check(STREAM[:first], STREAM[first:second], STREAM[second:])
