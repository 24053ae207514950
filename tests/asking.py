"""Waiting for something that only an awaited call can tell; see `tests.waiting` for the rest."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from tests.waiting import PAUSE_S

TIMEOUT_S = 60.0


async def until(condition: Callable[[], Awaitable[bool]], *, what: str = "the condition") -> None:
    """Return as soon as the condition holds; fail when it does not in time."""
    deadline = time.monotonic() + TIMEOUT_S
    while not await condition():
        assert time.monotonic() < deadline, f"waited {TIMEOUT_S} s for {what}"
        await asyncio.sleep(PAUSE_S)
