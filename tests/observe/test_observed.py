"""Call metrics of a process: buckets, percentiles, failures, spans."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from opentelemetry.trace import NonRecordingSpan, Span, Tracer
from opentelemetry.trace.span import INVALID_SPAN_CONTEXT

from mnemic.errors import InvalidInputError
from mnemic.runtime.call_metrics import BUCKETS_MS, CallMetrics, Histogram


def histogram_of(*durations_ms: float) -> Histogram:
    histogram = Histogram()
    for duration_ms in durations_ms:
        histogram.add(duration_ms)
    return histogram


def test_a_call_is_counted_in_the_first_bucket_that_holds_it() -> None:
    histogram = histogram_of(0.0, 1.0, 1.001, 2.5, 30_000.0, 30_000.1)
    assert histogram.counts[:3] == [2, 2, 0]
    assert histogram.counts[-2:] == [1, 1]
    assert histogram.count == 6
    assert histogram.total_ms == pytest.approx(60_004.601)


def test_percentiles_are_in_the_bucket_of_their_call() -> None:
    histogram = histogram_of(*[3.0] * 90, *[80.0] * 9, 700.0)
    p50, p95, p99 = (histogram.percentile_ms(share) for share in (0.50, 0.95, 0.99))
    assert p50 is not None
    assert p95 is not None
    assert 2.5 < p50 <= 5.0
    assert 50.0 < p95 <= 100.0
    assert p99 == 100.0
    assert histogram.percentile_ms(1.0) == 1_000.0


def test_percentiles_are_none_without_calls_and_at_most_the_last_bound() -> None:
    assert Histogram().percentile_ms(0.5) is None
    assert histogram_of(1e9).percentile_ms(0.5) == BUCKETS_MS[-1]


def test_failures_and_refusals_are_counted_and_errors_propagate() -> None:
    observed = CallMetrics()
    with observed.call("recall") as call:
        call.refused = True
    with observed.call("recall") as call:
        call.weak = True
    with pytest.raises(InvalidInputError, match="wrong"), observed.call("recall"):
        raise InvalidInputError("wrong")
    latency = observed.latency("recall")
    assert (latency.call_count, latency.failed_count, latency.refused_count) == (3, 1, 1)
    assert observed.histograms["recall"].weak_count == 1
    assert observed.latency("retain").call_count == 0


class RecordedSpan(NonRecordingSpan):
    """A span that records its calls."""

    def __init__(self) -> None:
        super().__init__(INVALID_SPAN_CONTEXT)
        self.attributes: dict[str, object] = {}

    def set_attribute(self, key: str, value: object) -> None:
        self.attributes[key] = value


class RecordingTracer:
    """The used part of a tracer."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, dict[str, Any], RecordedSpan]] = []

    @contextmanager
    def start_as_current_span(self, name: str, **options: Any) -> Iterator[Span]:
        span = RecordedSpan()
        self.spans.append((name, options, span))
        yield span


def test_each_call_is_a_span_without_error_messages() -> None:
    tracer = RecordingTracer()
    observed = CallMetrics(cast(Tracer, tracer))
    with observed.call("retain") as call:
        call.memory_count = 3
    with pytest.raises(ValueError, match="secret"), observed.call("recall"):
        raise ValueError("secret")
    (retain, options, retained), (recall, _, failed) = tracer.spans
    assert (retain, recall) == ("mnemic.retain", "mnemic.recall")
    assert options == {"record_exception": False, "set_status_on_exception": False}
    assert retained.attributes == {"mnemic.failed": False, "mnemic.refused": False, "mnemic.memory_count": 3}
    assert failed.attributes["mnemic.failed"] is True
