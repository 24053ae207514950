"""Hints: who waits for jobs or events is told that there are some, after they were committed.

NOTIFY inside the transaction that writes would make all commits of the database wait for each other. So a
transaction that writes jobs or events only says so, by `mnemic.request_wakeup(…)` in SQL; whoever commits
it finds the hint in the answer to the commit and passes it on: at once to those who asked in this process,
and by NOTIFY, in a transaction of its own, to other processes. The first hint goes out at once, those of
the same kind that follow within its interval go out together.

A hint may be lost: with this process, or because a program wrote without this pool. Nobody relies on it;
those who wait look into the table every now and then as well.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from typing import Literal, get_args

import psycopg

CLOSE_TIMEOUT_S = 1.0

Hint = Literal["jobs", "events"]
HINTS: frozenset[Hint] = frozenset(get_args(Hint))
INTERVAL_S: Mapping[Hint, float] = {"jobs": 0.01, "events": 0.05}
"""The least time between two notifications: nearly every write leaves an event, but few leave a job."""

logger = logging.getLogger("mnemic.hints")


def notify_channel(hint: Hint) -> str:
    """The channel of NOTIFY on which a hint goes out."""
    return f"mnemic_{hint}"


def hints_in(text: str | None) -> frozenset[Hint]:
    """The hints that a transaction left; what is no hint of ours is passed over."""
    return frozenset(hint for hint in HINTS if hint in (text or "").split(","))


class Hints:
    """Passes hints on. Not for several threads: everything happens in one event loop."""

    def __init__(self, notify: Callable[[Hint], Awaitable[None]]) -> None:
        self._notify = notify
        self._callbacks: dict[Hint, list[Callable[[], None]]] = {hint: [] for hint in HINTS}
        self._waiting: set[Hint] = set()
        self._senders: dict[Hint, asyncio.Task[None]] = {}
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
        if self._closed:
            return
        for hint in hints:
            for callback in tuple(self._callbacks[hint]):
                callback()
            self._waiting.add(hint)
            sender = self._senders.get(hint)
            if sender is None or sender.done():
                self._senders[hint] = asyncio.create_task(self._send(hint), name=f"mnemic hints of {hint}")

    async def aclose(self) -> None:
        """Send what waits, within a moment, and take no more."""
        self._closed = True
        running = {sender for sender in self._senders.values() if not sender.done()}
        for sender in running:
            sender.cancel()
        if running:
            await asyncio.wait(running, timeout=CLOSE_TIMEOUT_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                for hint in tuple(self._waiting):
                    await self._send_waiting(hint)

    async def _send(self, hint: Hint) -> None:
        while hint in self._waiting:
            await self._send_waiting(hint)
            await asyncio.sleep(INTERVAL_S[hint])

    async def _send_waiting(self, hint: Hint) -> None:
        self._waiting.discard(hint)
        try:
            await self._notify(hint)
        except psycopg.Error as error:
            logger.info("a hint was lost, polling makes up for it: %s", error)
