"""Calls of a tenant over time, by hour or by day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Literal, get_args

SeriesOperation = Literal["retain", "recall", "model"]
"""What is counted; `model` is a call of a language model."""
SERIES_OPERATIONS: tuple[SeriesOperation, ...] = get_args(SeriesOperation)

SeriesStep = Literal["hour", "day"]

CONFIDENCE_BINS = 20
"""Bins of the histogram of confidences; each is 0.05 wide."""


@dataclass(frozen=True, slots=True)
class SeriesCalls:
    """Calls of one operation in one hour or day; percentiles are None without calls of known duration.

    `refused_count` counts recalls that found nothing close enough, and calls of language models that a spend
    cap stopped. `weak_count` counts recalls whose hits may not answer the query. `memory_count` is the number
    of memories that were stored or recalled.
    """

    call_count: int = 0
    failed_count: int = 0
    refused_count: int = 0
    weak_count: int = 0
    memory_count: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """One hour or day of UTC, from `at` on. `usd` is what calls of language models cost."""

    at: datetime
    calls: Mapping[str, SeriesCalls]
    usd: Decimal


@dataclass(frozen=True, slots=True)
class GrowthDay:
    """How many memories were stored on a day of UTC."""

    day: date
    stored_count: int


@dataclass(frozen=True, slots=True)
class Series:
    """Calls of the tenant in all processes, from `since` on and before `until`.

    `points` has every hour or day of that time, also those without calls. `totals` are the calls of the whole
    time by operation, `usd` what they cost. `confidences` counts recalls by confidence in 20 bins from 0 to
    1. `refuse_below` is the confidence below which recall refuses by default.
    """

    since: datetime
    until: datetime
    step: SeriesStep
    points: Sequence[SeriesPoint]
    totals: Mapping[str, SeriesCalls]
    usd: Decimal
    confidences: Sequence[int]
    refuse_below: float
