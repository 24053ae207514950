"""Waiting for a condition, with a deadline instead of a sleep."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator

PAUSE_S = 0.01
PAUSE_MAX_S = 0.05
LATENESS = 0.05
"""How late a wait may end, as a part of its length: looking more often delays what is awaited."""


def wait_until(
    condition: Callable[[], bool], *, timeout_s: float = 60.0, what: str = "the condition"
) -> None:
    """Return as soon as the condition holds; fail after the time limit."""
    pauses = _pauses(timeout_s, what)
    while not condition():
        time.sleep(next(pauses))


async def wait_for(
    condition: Callable[[], bool], *, timeout_s: float = 60.0, what: str = "the condition"
) -> None:
    """The same without blocking the event loop."""
    pauses = _pauses(timeout_s, what)
    while not condition():
        pause_s = next(pauses)
        await asyncio.sleep(pause_s)


async def wait_for_async(
    condition: Callable[[], Awaitable[bool]], *, timeout_s: float = 60.0, what: str = "the condition"
) -> None:
    """The same for a condition that is awaited."""
    pauses = _pauses(timeout_s, what)
    while not await condition():
        pause_s = next(pauses)
        await asyncio.sleep(pause_s)


def _pauses(timeout_s: float, what: str) -> Iterator[float]:
    """How long to pause before the next look, until the time is up."""
    began = time.monotonic()
    while (waited_s := time.monotonic() - began) < timeout_s:
        yield min(max(PAUSE_S, LATENESS * waited_s), PAUSE_MAX_S)
    raise AssertionError(f"waited {timeout_s} s for {what}")
