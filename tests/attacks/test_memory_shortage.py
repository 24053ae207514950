"""A server whose memory runs out for a while goes on afterwards."""

import gc
import threading

import pytest

from mnemic.db.started_threads import StartedThreads
from mnemic.server.running import freeze_loaded_objects


def test_a_pool_starts_no_thread_after_it_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without memory, `Thread.start` may wait for ever for a thread that has ended."""
    with StartedThreads(3, name="started") as pool:
        running = set(threading.enumerate())

        def start(thread: threading.Thread) -> None:
            raise AssertionError(f"{thread.name} is started")

        monkeypatch.setattr(threading.Thread, "start", start)
        assert [each.result() for each in [pool.submit(pow, 2, number) for number in range(20)]] == [
            2**number for number in range(20)
        ]
        assert set(threading.enumerate()) <= running


def test_loaded_objects_are_not_visited_by_garbage_collections() -> None:
    try:
        freeze_loaded_objects()
        assert gc.get_freeze_count() > len(gc.get_objects())
    finally:
        gc.unfreeze()
