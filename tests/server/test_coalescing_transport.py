"""Headers and body of a response are sent in one packet, without delay."""

import asyncio
from typing import cast

from mnemic.server.protocol import CoalescingTransport


class Recorder:
    """A transport that records its calls."""

    def __init__(self) -> None:
        self.told: list[bytes | str] = []

    def write(self, data: bytes) -> None:
        self.told.append(data)

    def close(self) -> None:
        self.told.append("close")

    def is_closing(self) -> bool:
        return "close" in self.told

    def get_write_buffer_size(self) -> int:
        return 0


def gathering(recorder: Recorder) -> CoalescingTransport:
    return CoalescingTransport(cast(asyncio.Transport, recorder), asyncio.get_running_loop())


async def test_writes_of_one_loop_iteration_are_sent_together() -> None:
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


async def test_closing_flushes_first() -> None:
    recorder = Recorder()
    transport = gathering(recorder)
    transport.write(b"the last words")
    transport.close()
    assert recorder.told == [b"the last words", "close"]
    assert transport.is_closing()
