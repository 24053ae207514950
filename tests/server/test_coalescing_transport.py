"""Answers leave in one piece: headers and body are one packet, and nothing is held back."""

import asyncio
from typing import cast

from mnemic.server.protocol import CoalescingTransport


class Recorder:
    """A transport that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[bytes | str] = []

    def write(self, data: bytes) -> None:
        self.told.append(data)

    def close(self) -> None:
        self.told.append("close")

    def is_closing(self) -> bool:
        return "close" in self.told


def gathering(recorder: Recorder) -> CoalescingTransport:
    return CoalescingTransport(cast(asyncio.Transport, recorder), asyncio.get_running_loop())


async def test_what_is_written_in_one_go_is_sent_as_one_piece_and_what_follows_as_another() -> None:
    recorder = Recorder()
    transport = gathering(recorder)
    for piece in (b"head", b"", b"body"):
        transport.write(piece)
    assert recorder.told == []
    await asyncio.sleep(0)
    assert recorder.told == [b"headbody"]
    transport.write(b"more")
    await asyncio.sleep(0)
    assert recorder.told == [b"headbody", b"more"]


async def test_a_flush_sends_at_once_and_once() -> None:
    recorder = Recorder()
    transport = gathering(recorder)
    transport.write(b"answer")
    transport.flush()
    assert recorder.told == [b"answer"]
    transport.flush()
    await asyncio.sleep(0)
    assert recorder.told == [b"answer"]


async def test_closing_sends_what_waits_first() -> None:
    recorder = Recorder()
    transport = gathering(recorder)
    transport.write(b"the last words")
    transport.close()
    assert recorder.told == [b"the last words", "close"]
    assert transport.is_closing()
