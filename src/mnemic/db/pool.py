"""A connection pool that hands out the most recently returned connection, and whose workers can be cancelled.

psycopg's pool hands out connections in turn. Each call then uses another backend process, whose working set
has left the CPU caches: a single retain takes some 5 % longer. Also, its workers treat a cancellation as a
failed attempt to connect and retry: at the end of a program that did not close its memory, `asyncio.run`
would wait for them for ever.
"""

import asyncio
from collections import deque
from typing import Any

from psycopg_pool import AsyncConnectionPool

from mnemic.db.answering_connection import shut_down
from mnemic.db.connection import AppConnection


class LifoPool(AsyncConnectionPool[AppConnection]):
    """Last in, first out. Surplus connections are closed as in psycopg's pool, not the least used first."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # Idle connections of psycopg's pool, which appends on the right and takes from the left.
        self._pool = _LifoDeque()

    def shut_down_idle(self) -> None:
        """Shut down the sockets of idle connections; they are replaced when they are taken."""
        for connection in list(self._pool):
            shut_down(connection)

    @classmethod
    async def worker(cls, q: Any) -> None:
        """The background task that connects; it ends when it is cancelled."""
        await super().worker(_CancellableQueue(q))  # type: ignore[arg-type]


class _LifoDeque(deque[AppConnection]):
    def append(self, connection: AppConnection) -> None:
        self.appendleft(connection)


class _CancellableQueue:
    """A worker's queue that raises CancelledError for a worker whose cancellation was swallowed."""

    def __init__(self, queue: Any) -> None:
        self._queue = queue

    async def get(self) -> Any:
        worker = asyncio.current_task()
        if worker is not None and worker.cancelling():
            raise asyncio.CancelledError
        return await self._queue.get()
