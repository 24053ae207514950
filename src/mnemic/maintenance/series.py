"""Calls of a tenant over time, from the rows that all processes add to (`runtime/hourly_metrics.py`).

Percentiles are interpolated within a bucket of durations. Buckets are a third wider than the one before, so
that a percentile is accurate to some percent.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase
from mnemic.errors import InvalidInputError, MnemicError
from mnemic.recall.refusal import refusal_threshold
from mnemic.runtime.core import Core
from mnemic.runtime.hourly_metrics import BOUNDS_MS, BUCKET_COUNT, PastGrowth
from mnemic.types.checks import check_time, check_whole
from mnemic.types.series import (
    CONFIDENCE_BINS,
    SERIES_OPERATIONS,
    GrowthDay,
    Series,
    SeriesCalls,
    SeriesPoint,
    SeriesStep,
)
from mnemic.types.spend import MICRODOLLARS

KEEP_DAYS = 90
"""How long the rows of an hour are kept; also the longest series."""
DEFAULT_HOURS = 24
BY_HOUR_MAX = timedelta(days=7)
"""Longer series are by day."""
STEPS: dict[SeriesStep, timedelta] = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

COUNTED = ("call_count", "failed_count", "refused_count", "weak_count", "memory_count", "spent_microdollars")
SHARES = (0.50, 0.95, 0.99)
"""The percentiles of a series."""
LOWEST_MS = BOUNDS_MS[0] ** 2 / BOUNDS_MS[1]
"""The lower bound of the first bucket, by which its percentiles are interpolated."""

Counts = npt.NDArray[np.int64]
logger = logging.getLogger("mnemic.series")


async def read_series(core: Core, *, hours: object, since: object, until: object) -> Series:
    """Read the series of a time; the counts of this process are written first."""
    window = check_series_window(hours, since, until, now=datetime.now(UTC))
    await _write_own_counts(core)
    step_s = STEPS[window.step].total_seconds()
    parameters = {"since": window.since, "until": window.until, "step_s": step_s}
    async with core.storage.tenant_database.transaction() as transaction:
        rows = await transaction.binary_rows("hourly_metrics.series", parameters)
    threshold = refusal_threshold(None, core.settings.refuse_below, strict=False)
    return _series(window, rows, threshold)


async def read_growth(core: Core, *, days: object) -> list[GrowthDay]:
    """The memories stored on each of the last days, today last; much cheaper than their series."""
    count = check_whole("days", days, 1, KEEP_DAYS)
    today = datetime.now(UTC).date()
    since = today - timedelta(days=count - 1)
    await _write_own_counts(core)
    stored = await _stored_since(core, since, today)
    listed = [since + timedelta(days=number) for number in range(count)]
    return [GrowthDay(day, stored.get(day, 0)) for day in listed]


async def _stored_since(core: Core, since: date, today: date) -> dict[date, int]:
    """Stored memories by day. Days before yesterday, which change no more, are read once a day."""
    past, yesterday = core.past_growth, today - timedelta(days=1)
    is_known = past is not None and past.read_on == today and past.since <= since
    read_since = max(since, yesterday) if is_known else since
    parameters = {"since": datetime.combine(read_since, time(), UTC)}
    async with core.storage.tenant_database.transaction() as transaction:
        rows = await transaction.rows("hourly_metrics.growth", parameters)
    stored = {row["day"]: row["stored_count"] for row in rows}
    if past is not None and is_known:
        return {**past.stored, **stored}
    over = {day: stored_count for day, stored_count in stored.items() if day < yesterday}
    core.past_growth = PastGrowth(today, since, over)
    return stored


async def prune(database: TenantDatabase, *, limit: int) -> int:
    """Delete some rows of hours that are older than `KEEP_DAYS`; returns how many."""
    async with database.transaction() as transaction:
        return await transaction.execute("hourly_metrics.prune", {"keep_days": KEEP_DAYS, "limit": limit})


@dataclass(frozen=True)
class SeriesWindow:
    """The time of a series, in whole steps."""

    since: datetime
    until: datetime
    step: SeriesStep

    @property
    def point_count(self) -> int:
        """Number of hours or days."""
        return (self.until - self.since) // STEPS[self.step]

    def place(self, at: datetime) -> int:
        """The index of the point that a time belongs to."""
        return (at - self.since) // STEPS[self.step]


def check_series_window(hours: object, since: object, until: object, *, now: datetime) -> SeriesWindow:
    """The window that `hours`, `since` and `until` mean, extended to whole hours or days of UTC."""
    if hours is not None and since is not None:
        raise InvalidInputError("Give hours or since, not both.")
    end = check_time("until", until) if until is not None else now
    if since is not None:
        length = end - check_time("since", since)
    else:
        given = DEFAULT_HOURS if hours is None else hours
        length = timedelta(hours=check_whole("hours", given, 1, KEEP_DAYS * 24))
    if length <= timedelta():
        raise InvalidInputError("until must be after since; without until it is now.")
    if length > timedelta(days=KEEP_DAYS):
        raise InvalidInputError(f"A series covers at most {KEEP_DAYS} days: choose a later since.")
    return _in_whole_steps(end, length, is_exact=since is not None)


def _in_whole_steps(end: datetime, length: timedelta, *, is_exact: bool) -> SeriesWindow:
    """The step that `end` is in is included. If the start `is_exact`, so is the step that it is in."""
    step: SeriesStep = "hour" if length <= BY_HOUR_MAX else "day"
    size = STEPS[step]
    try:
        until = EPOCH - (EPOCH - end) // size * size
        start = end - length if is_exact else until - length
        since = EPOCH + (start - EPOCH) // size * size
    except OverflowError:
        raise InvalidInputError("since and until must lie in the years 1 to 9999 of UTC.") from None
    return SeriesWindow(since, until, step)


async def _write_own_counts(core: Core) -> None:
    try:
        await core.write_hourly_metrics()
    except MnemicError as error:
        # For example a database that is read-only: the series of what was written before is still right.
        logger.warning("the latest counts of this process are missing in a series: %s", error)


def _series(window: SeriesWindow, rows: Sequence[Row], threshold: float) -> Series:
    rows = [row for row in rows if row["operation"] in SERIES_OPERATIONS]
    places = np.array([window.place(row["at"]) for row in rows], int)
    operations = np.array([SERIES_OPERATIONS.index(row["operation"]) for row in rows], int)
    counts = np.zeros((window.point_count, len(SERIES_OPERATIONS), len(COUNTED)), np.int64)
    durations = np.zeros((window.point_count, len(SERIES_OPERATIONS), BUCKET_COUNT), np.int64)
    if rows:
        np.add.at(counts, (places, operations), np.array([[row[name] for name in COUNTED] for row in rows]))
        of_row, numbers = _numbers([row["durations"] for row in rows], BUCKET_COUNT)
        np.add.at(durations, (places[of_row], operations[of_row]), numbers)
    return Series(
        since=window.since,
        until=window.until,
        step=window.step,
        points=_points(window, counts, durations),
        totals=_calls(counts.sum(axis=0).tolist(), _percentiles_ms(durations.sum(axis=0)).tolist()),
        usd=_usd(int(counts[:, :, -1].sum())),
        confidences=_confidences(rows),
        refuse_below=threshold,
    )


def _points(window: SeriesWindow, counts: Counts, durations: Counts) -> list[SeriesPoint]:
    size = STEPS[window.step]
    percentiles = _percentiles_ms(durations).tolist()
    spent = counts[:, :, -1].sum(axis=1).tolist()
    return [
        SeriesPoint(window.since + place * size, _calls(point, percentiles[place]), _usd(spent[place]))
        for place, point in enumerate(counts.tolist())
    ]


def _calls(counts: list[list[int]], percentiles: list[list[float]]) -> dict[str, SeriesCalls]:
    """The calls by operation; the last count of each is the spend, which has a field of its own."""
    return {
        operation: SeriesCalls(*counts[place][:-1], *(None if ms != ms else ms for ms in percentiles[place]))
        for place, operation in enumerate(SERIES_OPERATIONS)
    }


def _percentiles_ms(durations: Counts) -> npt.NDArray[Any]:
    """The percentiles of histograms, which are along the last axis; NaN without calls."""
    cumulated = durations.cumsum(axis=-1)
    totals = cumulated[..., -1:]
    bounds = np.array([LOWEST_MS, *BOUNDS_MS, BOUNDS_MS[-1]])
    found = []
    for share in SHARES:
        wanted = share * totals
        bucket = (cumulated >= wanted).argmax(axis=-1)[..., None]
        inside = np.take_along_axis(durations, bucket, -1)
        before = np.take_along_axis(cumulated, bucket, -1) - inside
        low, high = bounds[bucket], bounds[bucket + 1]
        part = (wanted - before) / np.maximum(inside, 1)
        found.append(np.where(totals > 0, low * (high / low) ** part, np.nan))
    return np.concatenate(found, axis=-1)


def _confidences(rows: Sequence[Row]) -> tuple[int, ...]:
    _, numbers = _numbers([row["confidences"] for row in rows], CONFIDENCE_BINS)
    return tuple(numbers.sum(axis=0).tolist())


def _numbers(sent: Sequence[bytes], count: int) -> tuple[Counts, Counts]:
    """The row of each array, and its numbers. A row has several arrays of `count` numbers, or none.

    An array is sent as five words, then length and value of each number.
    """
    words = 5 + 2 * count
    arrays = np.frombuffer(b"".join(sent), ">i4").reshape(-1, words)
    of_row = np.repeat(np.arange(len(sent)), [len(each) // (4 * words) for each in sent])
    return of_row, arrays[:, 6::2].astype(np.int64)


def _usd(microdollars: int) -> Decimal:
    return Decimal(microdollars) / MICRODOLLARS
