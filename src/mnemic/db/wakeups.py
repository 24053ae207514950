"""Wakeups: signal waiting workers and event followers, in this process and in others, after a commit.

NOTIFY inside the writing transaction would serialise all commits of the database. So a transaction that
writes jobs or events only records a wakeup, by a function in SQL. The pool reads it from the response to the
commit and passes it on: immediately to callbacks in this process, and by NOTIFY, in a transaction of its own,
to other processes. The first wakeup of a kind goes out at once; those that follow within its interval go out
together.

A wakeup can be lost: with this process, or when a program writes without this pool. So every waiter also
polls.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from typing import Literal, get_args

import psycopg

CLOSE_TIMEOUT_S = 1.0

Wakeup = Literal["jobs", "events"]
ProcessWakeup = Literal["finished_jobs"]
"""Sent by workers to waiters of their own process only: a NOTIFY per finished job would be expensive."""
WAKEUPS: frozenset[Wakeup] = frozenset(get_args(Wakeup))
INTERVAL_S: Mapping[Wakeup, float] = {"jobs": 0.01, "events": 0.05}
"""Minimum time between two notifications: nearly every write leaves an event, but few leave a job."""

logger = logging.getLogger("mnemic.wakeups")


def notify_channel(wakeup: Wakeup) -> str:
    """The NOTIFY channel of a wakeup."""
    return f"mnemic_{wakeup}"


def wakeups_in(text: str | None) -> frozenset[Wakeup]:
    """The wakeups that a transaction recorded; unknown words are ignored."""
    return frozenset(wakeup for wakeup in WAKEUPS if wakeup in (text or "").split(","))


class Wakeups:
    """Sends wakeups to callbacks and by NOTIFY. Not thread-safe: everything happens in one event loop."""

    def __init__(self, notify: Callable[[Wakeup], Awaitable[None]]) -> None:
        self._notify = notify
        self._callbacks: defaultdict[Wakeup | ProcessWakeup, list[Callable[[], None]]] = defaultdict(list)
        self._pending: set[Wakeup] = set()
        self._senders: dict[Wakeup, asyncio.Task[None]] = {}
        self._closed = False

    def on(self, wakeup: Wakeup | ProcessWakeup, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function at each wakeup of this kind; returns a function that unregisters it."""
        callbacks = self._callbacks[wakeup]
        callbacks.append(callback)

        def unregister() -> None:
            with suppress(ValueError):
                callbacks.remove(callback)

        return unregister

    def send(self, wakeups: Collection[Wakeup]) -> None:
        """Send wakeups, without waiting for the notification."""
        if self._closed:
            return
        for wakeup in wakeups:
            self.send_in_process(wakeup)
            self._pending.add(wakeup)
            sender = self._senders.get(wakeup)
            if sender is None or sender.done():
                self._senders[wakeup] = asyncio.create_task(
                    self._send(wakeup), name=f"mnemic {wakeup} wakeups"
                )

    def send_in_process(self, wakeup: Wakeup | ProcessWakeup) -> None:
        """Call the callbacks of this process, and notify no other."""
        for callback in tuple(self._callbacks[wakeup]):
            callback()

    async def aclose(self) -> None:
        """Send pending wakeups, for at most `CLOSE_TIMEOUT_S`, and accept no more."""
        self._closed = True
        running = {sender for sender in self._senders.values() if not sender.done()}
        for sender in running:
            sender.cancel()
        if running:
            await asyncio.wait(running, timeout=CLOSE_TIMEOUT_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                for wakeup in tuple(self._pending):
                    await self._send_pending(wakeup)

    async def _send(self, wakeup: Wakeup) -> None:
        while wakeup in self._pending:
            await self._send_pending(wakeup)
            await asyncio.sleep(INTERVAL_S[wakeup])

    async def _send_pending(self, wakeup: Wakeup) -> None:
        self._pending.discard(wakeup)
        try:
            await self._notify(wakeup)
        except psycopg.Error as error:
            logger.info("a wakeup was lost, waiters find the change by polling: %s", error)
