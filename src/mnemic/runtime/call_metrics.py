"""Durations of calls in this process, held in memory and read by the metrics.

Each operation has a histogram with fixed bounds, as Prometheus expects. Everything happens in one event loop,
so counting needs no lock. Percentiles are computed from the buckets, so they are accurate to the width of a
bucket.

Where the package `opentelemetry-api` is installed, each call is also a span, `mnemic.retain` or
`mnemic.recall`. A span contains counts, never text or names.
"""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from mnemic.runtime.proxy_counts import ProxyCounts
from mnemic.types.overview import Latency
from mnemic.types.spend import CallPurpose

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

Operation = Literal["retain", "recall"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)

BUCKETS_MS = (1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1e3, 2.5e3, 5e3, 1e4, 3e4)
"""Upper bounds of the buckets; one more bucket counts longer calls."""


@dataclass
class Histogram:
    """The durations of one operation."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_MS) + 1))
    total_ms: float = 0.0
    failed_count: int = 0
    refused_count: int = 0
    weak_count: int = 0

    @property
    def count(self) -> int:
        """Number of calls."""
        return sum(self.counts)

    def add(self, duration_ms: float) -> None:
        """Count a call."""
        self.counts[bisect_left(BUCKETS_MS, duration_ms)] += 1
        self.total_ms += duration_ms

    def percentile_ms(self, share: float) -> float | None:
        """The duration that this share of calls did not exceed, interpolated; None without calls."""
        wanted, seen = share * self.count, 0
        bounds = (0.0, *BUCKETS_MS, BUCKETS_MS[-1])
        for place, count in enumerate(self.counts):
            if count and seen + count >= wanted:
                low, high = bounds[place], bounds[place + 1]
                return low + (high - low) * max(0.0, wanted - seen) / count
            seen += count
        return None


@dataclass
class MeasuredCall:
    """A call that is being measured; the caller may set its result. `duration_ms` is set at its end."""

    refused: bool = False
    weak: bool = False
    failed: bool = False
    memory_count: int = 0
    confidence: float | None = None
    is_recorded: bool = True
    """Whether the call counts in the hourly metrics; a recall with `record=False` does not."""
    duration_ms: float = 0.0


@dataclass
class ModelCallCounts:
    """Calls of language models in this process, by purpose; `refused` ones were stopped by a spend cap."""

    made: Counter[CallPurpose] = field(default_factory=Counter)
    failed: Counter[CallPurpose] = field(default_factory=Counter)
    refused: Counter[CallPurpose] = field(default_factory=Counter)
    input_tokens: Counter[CallPurpose] = field(default_factory=Counter)
    output_tokens: Counter[CallPurpose] = field(default_factory=Counter)
    microdollars: Counter[CallPurpose] = field(default_factory=Counter)


class CallMetrics:
    """Histograms since the database was opened, for all tenants that share it."""

    def __init__(self, tracer: "Tracer | None" = None) -> None:
        self.model_calls = ModelCallCounts()
        self.proxy = ProxyCounts()
        self.context_levels: Counter[str] = Counter()
        """Levels that a language model wrote: `written`, or why they were dropped."""
        self.histograms: dict[Operation, Histogram] = {operation: Histogram() for operation in OPERATIONS}
        self._given_tracer = tracer

    @contextmanager
    def call(self, operation: Operation) -> Iterator[MeasuredCall]:
        """Measure a block and count its result."""
        call, histogram, started_s = MeasuredCall(), self.histograms[operation], time.perf_counter()
        with self._span(operation) as span:
            try:
                yield call
            except BaseException:
                call.failed = True
                raise
            finally:
                call.duration_ms = (time.perf_counter() - started_s) * 1000
                histogram.add(call.duration_ms)
                histogram.failed_count += call.failed
                histogram.refused_count += call.refused
                histogram.weak_count += call.weak
                if span is not None:
                    span.set_attribute("mnemic.failed", call.failed)
                    span.set_attribute("mnemic.refused", call.refused)
                    span.set_attribute("mnemic.memory_count", call.memory_count)

    def latency(self, operation: Operation) -> Latency:
        """Latency of one operation in this process."""
        histogram = self.histograms[operation]
        return Latency(
            call_count=histogram.count,
            failed_count=histogram.failed_count,
            refused_count=histogram.refused_count,
            p50_ms=histogram.percentile_ms(0.50),
            p95_ms=histogram.percentile_ms(0.95),
            p99_ms=histogram.percentile_ms(0.99),
        )

    @cached_property
    def _tracer(self) -> "Tracer | None":
        """Looked up at the first call, because importing it would slow down opening."""
        return self._given_tracer if self._given_tracer is not None else _find_tracer()

    def _span(self, operation: Operation) -> Any:
        if self._tracer is None:
            return nullcontext()
        # An error may quote what was stored, so it stays out of the span.
        return self._tracer.start_as_current_span(
            f"mnemic.{operation}", record_exception=False, set_status_on_exception=False
        )


def _find_tracer() -> "Tracer | None":
    try:
        from opentelemetry.trace import get_tracer  # noqa: PLC0415 (an extra of others: opentelemetry-api)
    except ImportError:
        return None
    return get_tracer("mnemic")
