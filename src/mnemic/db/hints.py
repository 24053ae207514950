"""Hints: who waits for jobs or events is told that there are some, after they were committed.

NOTIFY inside the transaction that writes would make all commits of the database wait for each other. So a
transaction that writes jobs or events only says so, by `mnemic.hint(…)` in SQL; whoever commits it finds the
hint in the answer to the commit and passes it on: at once to those who asked in this process, and by NOTIFY,
in a transaction of its own, to other processes. The first hint goes out at once, those that follow within
`INTERVAL_S` go out together.

A hint may be lost: with this process, or because a program wrote without this pool. Nobody relies on it;
those who wait look into the table every now and then as well.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Literal, get_args

import psycopg

INTERVAL_S = 0.01
CLOSE_TIMEOUT_S = 1.0

Hint = Literal["jobs", "events"]
HINTS: frozenset[Hint] = frozenset(get_args(Hint))

logger = logging.getLogger("mnemic.hints")


def notify_channel(hint: Hint) -> str:
    """The channel of NOTIFY on which a hint goes out."""
    return f"mnemic_{hint}"


def hints_in(text: str | None) -> frozenset[Hint]:
    """The hints that a transaction left; what is no hint of ours is passed over."""
    return frozenset(hint for hint in HINTS if hint in (text or "").split(","))


class Hints:
    """Passes hints on. Not for several threads: everything happens in one event loop."""

    def __init__(self, notify: Callable[[Collection[Hint]], Awaitable[None]]) -> None:
        self._notify = notify
        self._callbacks: dict[Hint, list[Callable[[], None]]] = {hint: [] for hint in HINTS}
        self._waiting: set[Hint] = set()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def on(self, hint: Hint, callback: Callable[[], None]) -> Callable[[], None]:
        """Have a function called after each commit that left this hint; returns how to end that."""
        callbacks = self._callbacks[hint]
        callbacks.append(callback)

        def end() -> None:
            with suppress(ValueError):
                callbacks.remove(callback)

        return end

    def tell(self, hints: Collection[Hint]) -> None:
        """Pass hints on, without waiting for it."""
        if not hints or self._closed:
            return
        for hint in hints:
            for callback in tuple(self._callbacks[hint]):
                callback()
        self._waiting.update(hints)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send(), name="mnemic hints")

    async def aclose(self) -> None:
        """Send what waits, within a moment, and take no more."""
        self._closed = True
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._send_waiting()

    async def _send(self) -> None:
        while self._waiting:
            await self._send_waiting()
            await asyncio.sleep(INTERVAL_S)

    async def _send_waiting(self) -> None:
        hints, self._waiting = self._waiting, set()
        if not hints:
            return
        try:
            await self._notify(hints)
        except psycopg.Error as error:
            logger.info("a hint was lost, polling makes up for it: %s", error)
