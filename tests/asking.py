"""Waiting for an asynchronous condition; `tests.waiting` is for synchronous ones."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from tests.waiting import PAUSE_S

TIMEOUT_S = 20.0


async def until(condition: Callable[[], Awaitable[bool]], *, what: str = "the condition") -> None:
    """Return as soon as the condition holds; fail after the time limit."""
    deadline = time.monotonic() + TIMEOUT_S
    while not await condition():
        assert time.monotonic() < deadline, f"waited {TIMEOUT_S} s for {what}"
        await asyncio.sleep(PAUSE_S)
