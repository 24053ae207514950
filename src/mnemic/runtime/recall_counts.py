"""How often memories were recalled: counted in this process, written in batches, never by a recall.

Counts are written when `WRITE_COUNT` memories have gathered, at the first recall after `WRITE_AFTER_S`, and
when the memory closes. A killed process loses the counts that it has not written: those of about
`WRITE_COUNT` memories.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from functools import partial
from time import monotonic, time
from typing import Any
from uuid import UUID

from psycopg.errors import ForeignKeyViolation

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.id_arrays import IdArray, Key
from mnemic.errors import InvalidInputError

WRITE_COUNT = 5_000
WRITE_AFTER_S = 30.0
BATCH_ROWS = 1_000
COUNTED_MAX = 100_000
"""Maximum memories with unwritten counts while writing fails; others are not counted meanwhile."""


class RecallCounts:
    """Unwritten counts."""

    def __init__(self) -> None:
        self._times: Counter[Key] = Counter()
        self._last_s: dict[Key, float] = {}
        self._since_s = monotonic()

    def count(self, memory_ids: Iterable[UUID]) -> bool:
        """Count a recall of these memories; returns whether it is time to write."""
        now_s = time()
        for memory_id in memory_ids:
            key = memory_id.bytes
            if len(self._times) < COUNTED_MAX or key in self._times:
                self._times[key] += 1
                self._last_s[key] = now_s
        waited = monotonic() - self._since_s >= WRITE_AFTER_S
        return len(self._times) >= WRITE_COUNT or (waited and bool(self._times))

    async def write(self, database: TenantDatabase) -> int:
        """Write the counts; returns the number of memories. A failed batch is kept for the next time."""
        written = 0
        self._since_s = monotonic()
        while self._times:
            keys = sorted(self._times)[:BATCH_ROWS]
            times = [self._times.pop(key) for key in keys]
            last_s = [self._last_s.pop(key) for key in keys]
            parameters = {"ids": IdArray(keys), "times": times, "last_s": last_s}
            writing = asyncio.create_task(_write_batch(database, parameters))
            try:
                await asyncio.shield(writing)
            finally:
                # After a cancellation it is unknown whether the batch was committed, so wait for its end.
                await asyncio.wait({writing})
                if writing.cancelled() or writing.exception() is not None:
                    self._times.update(dict(zip(keys, times, strict=True)))
                    self._last_s = dict(zip(keys, last_s, strict=True)) | self._last_s
            written += len(keys)
        return written


async def _write_batch(database: TenantDatabase, parameters: dict[str, Any]) -> None:
    work = partial(_reinforce, parameters=parameters)
    try:
        await database.run(work)
    except InvalidInputError as error:
        if not isinstance(error.__cause__, ForeignKeyViolation):
            raise
        # A memory was erased between its lookup and its count; the second attempt does not find it.
        await database.run(work)


async def _reinforce(transaction: Transaction, parameters: dict[str, Any]) -> int:
    return await transaction.execute("recall.reinforce", parameters)
