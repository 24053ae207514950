"""A pool of connections that hands out the one which came back last, and lets the program end.

psycopg's own hands them out in turns. A caller then meets another server process each time, whose memory has
left the processor's cache meanwhile: a single retain takes some 5 % longer. And its workers take being
cancelled for one more reason why they could not connect, and try again: at the end of a program that forgot
to close its memory, `asyncio.run` would wait for them for ever.
"""

import asyncio
from collections import deque
from typing import Any

from psycopg_pool import AsyncConnectionPool

from mnemic.db.connection import AppConnection


class WarmPool(AsyncConnectionPool[AppConnection]):
    """The pool. Where some were not needed for long, it closes one, as before, if not the idlest."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # Where psycopg's pool keeps those that nobody uses: it appends on the right and takes from the left.
        self._pool = _LastFirst()

    @classmethod
    async def worker(cls, q: Any) -> None:
        """What connects in the background: a task that ends when it is cancelled."""
        await super().worker(_UntilCancelled(q))  # type: ignore[arg-type]


class _LastFirst(deque[AppConnection]):
    def append(self, connection: AppConnection) -> None:
        self.appendleft(connection)


class _UntilCancelled:
    """A worker's queue, with nothing more in it for one whose cancellation was swallowed."""

    def __init__(self, queue: Any) -> None:
        self._queue = queue

    async def get(self) -> Any:
        worker = asyncio.current_task()
        if worker is not None and worker.cancelling():
            raise asyncio.CancelledError
        return await self._queue.get()
