"""Calls by hour: counted in this process, added to `traces.hourly_metrics` in batches, never by a call.

The first call after a write starts a timer, and `WRITE_AFTER_S` later a background task adds the counts to
the rows of their hours; closing the memory does the same. A killed process loses the counts that it has not
written: those of at most `WRITE_AFTER_S`. If writing fails, the counts are kept and added the next time.

Durations are counted in buckets with fixed bounds, so that those of several processes add up. Percentiles are
computed from the buckets when they are read.
"""

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from psycopg.types.json import Jsonb

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.runtime.call_metrics import MeasuredCall, Operation
from mnemic.types.series import CONFIDENCE_BINS, SeriesOperation

WRITE_AFTER_S = 30.0
KEPT_MAX_ROWS = 200
"""Maximum unwritten rows while writing fails: about three days of three operations. The oldest are lost."""
BUCKETS_PER_DECADE = 8
BOUNDS_MS = tuple(10 ** (place / BUCKETS_PER_DECADE - 1) for place in range(1, 6 * BUCKETS_PER_DECADE + 1))
"""Upper bounds of the buckets, from 0.13 ms to 100 s; one more bucket counts longer calls."""
BUCKET_COUNT = len(BOUNDS_MS) + 1

logger = logging.getLogger("mnemic.hourly_metrics")

HourKey = tuple[datetime, SeriesOperation]


@dataclass
class HourCounts:
    """Calls of one operation in one hour."""

    call_count: int = 0
    failed_count: int = 0
    refused_count: int = 0
    weak_count: int = 0
    memory_count: int = 0
    spent_microdollars: int = 0
    durations: list[int] = field(default_factory=lambda: [0] * BUCKET_COUNT)
    confidences: list[int] = field(default_factory=lambda: [0] * CONFIDENCE_BINS)

    def add_call(self, call: MeasuredCall) -> None:
        """Count a call that ended."""
        self.call_count += 1
        self.failed_count += call.failed
        self.refused_count += call.refused
        self.weak_count += call.weak
        self.memory_count += call.memory_count
        self.durations[bisect_left(BOUNDS_MS, call.duration_ms)] += 1
        if call.confidence is not None:
            self.confidences[min(int(call.confidence * CONFIDENCE_BINS), CONFIDENCE_BINS - 1)] += 1

    def add(self, other: "HourCounts") -> None:
        """Add the counts of another process or time."""
        self.call_count += other.call_count
        self.failed_count += other.failed_count
        self.refused_count += other.refused_count
        self.weak_count += other.weak_count
        self.memory_count += other.memory_count
        self.spent_microdollars += other.spent_microdollars
        self.durations = _sum(self.durations, other.durations)
        self.confidences = _sum(self.confidences, other.confidences)


class HourlyMetrics:
    """Unwritten counts. Not thread-safe: everything happens in one event loop.

    `request_write` has a background task call `write`, and returns whether it will.
    """

    def __init__(self, request_write: Callable[[], bool], *, write_after_s: float = WRITE_AFTER_S) -> None:
        self._rows: dict[HourKey, HourCounts] = {}
        self._request_write = request_write
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        self.write_after_s = write_after_s

    def __bool__(self) -> bool:
        """Whether there are counts to write."""
        return bool(self._rows)

    def count_call(self, operation: Operation, call: MeasuredCall) -> None:
        """Count a call that ended now."""
        self._row(operation).add_call(call)

    def count_model_call(self, *, failed: bool = False, refused: bool = False, microdollars: int = 0) -> None:
        """Count a call of a language model, whose duration is not known here."""
        row = self._row("model")
        row.call_count += 1
        row.failed_count += failed
        row.refused_count += refused
        row.spent_microdollars += microdollars

    async def write(self, database: TenantDatabase) -> int:
        """Add the counts to their rows; returns the number of rows. After an error they are kept."""
        if not self._rows:
            return 0
        taken, self._rows = self._rows, {}
        writing = asyncio.create_task(add_counts(database, taken))
        try:
            await asyncio.shield(writing)
        finally:
            # After a cancellation it is unknown whether the rows were committed, so wait for the end.
            await asyncio.wait({writing})
            if writing.cancelled() or writing.exception() is not None:
                self._take_back(taken)
        return len(taken)

    def close(self) -> None:
        """Stop the timer; counts of later calls are not written."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _row(self, operation: SeriesOperation) -> HourCounts:
        """The row of the current hour."""
        key = (datetime.now(UTC).replace(minute=0, second=0, microsecond=0), operation)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = HourCounts()
        self._start_timer()
        return row

    def _start_timer(self) -> None:
        if self._timer is None and not self._is_closed:
            self._timer = asyncio.get_running_loop().call_later(self.write_after_s, self._write_now)

    def _write_now(self) -> None:
        self._timer = None
        if self._rows and not self._request_write():
            self._start_timer()  # A write has failed recently, or is in progress.

    def _take_back(self, taken: dict[HourKey, HourCounts]) -> None:
        for key, counts in taken.items():
            self._rows.setdefault(key, HourCounts()).add(counts)
        for key in sorted(self._rows)[:-KEPT_MAX_ROWS]:
            del self._rows[key]
            logger.warning("the metrics of an hour are lost, since they could not be written for long")


@dataclass(frozen=True)
class PastGrowth:
    """Memories stored on days that change no more: from `since` to the day before yesterday of `read_on`."""

    read_on: date
    since: date
    stored: Mapping[date, int]


async def add_counts(database: TenantDatabase, counts: Mapping[HourKey, HourCounts]) -> None:
    """Add counts to the rows of their hours, in one statement."""
    rows: list[dict[str, Any]] = [
        {"hour": hour.isoformat(), "operation": operation, **asdict(row)}
        for (hour, operation), row in counts.items()
    ]

    async def add(transaction: Transaction) -> int:
        return await transaction.execute("hourly_metrics.add", {"rows": Jsonb(rows)})

    await database.run(add)


def _sum(one: Sequence[int], other: Sequence[int]) -> list[int]:
    return [a + b for a, b in zip(one, other, strict=True)]
