"""Waiting for a condition, with a deadline instead of a sleep."""

import asyncio
import time
from collections.abc import Awaitable, Callable

PAUSE_S = 0.01


def wait_until(
    condition: Callable[[], bool], *, timeout_s: float = 60.0, what: str = "the condition"
) -> None:
    """Return as soon as the condition holds; fail after the time limit."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s} s for {what}"
        time.sleep(PAUSE_S)


async def wait_for(
    condition: Callable[[], bool], *, timeout_s: float = 60.0, what: str = "the condition"
) -> None:
    """The same without blocking the event loop."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s} s for {what}"
        await asyncio.sleep(PAUSE_S)


async def wait_for_async(
    condition: Callable[[], Awaitable[bool]], *, timeout_s: float = 60.0, what: str = "the condition"
) -> None:
    """The same for a condition that is awaited."""
    deadline = time.monotonic() + timeout_s
    while not await condition():
        assert time.monotonic() < deadline, f"waited {timeout_s} s for {what}"
        await asyncio.sleep(PAUSE_S)
