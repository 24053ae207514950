"""All metrics of a process as plain values, which the server's `/metrics` publishes.

Three sources: calls counted in this process and their durations, the use of its connection pool, and the
state of the queue, schedules and events of all tenants, from the database. No tenant and no owner is named:
the labels are operations, job types and job states. The values from the database are the same in all
processes; a scraper that reads several processes gets them from each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

from mnemic.db.database import Database
from mnemic.runtime.call_metrics import BUCKETS_MS, CallMetrics, Histogram, ModelCallCounts
from mnemic.runtime.proxy_counts import ProxyCounts
from mnemic.types.spend import MICRODOLLARS

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True)
class Sample:
    """One value. `suffix` is appended to the name of its family: `_bucket`, `_count`, `_sum`, `_total`."""

    labels: Mapping[str, str]
    value: float
    suffix: str = ""


@dataclass(frozen=True)
class MetricFamily:
    """Values of one name, and their meaning."""

    name: str
    help: str
    kind: Kind
    samples: Sequence[Sample] = field(default=())


# What `mnemic.queue_metrics` in the database calls them → how they are published.
FROM_DATABASE: dict[str, tuple[str, str]] = {
    "jobs": ("mnemic_jobs", "Unfinished jobs, by type and state."),
    "oldest_ready_s": ("mnemic_job_oldest_ready_seconds", "How long the oldest waiting job has been due."),
    "finished_1h": ("mnemic_jobs_finished_1h", "Jobs that ended within the last hour, by type and state."),
    "run_s_1h": (
        "mnemic_job_run_seconds_1h",
        "Run times of jobs done within the last hour, by type and quantile.",
    ),
    "retries_1h": (
        "mnemic_job_attempts_repeated_1h",
        "Attempts of the last hour that did not finish their job.",
    ),
    "dead": ("mnemic_jobs_dead", "Dead letters: jobs that failed all their attempts."),
    "workers": ("mnemic_workers", "Workers that are alive."),
    "overdue_schedules": ("mnemic_schedules_overdue", "Schedules that are more than two minutes late."),
    "unsequenced_events": ("mnemic_events_unsequenced", "Events that have no position yet."),
    "oldest_unsequenced_s": (
        "mnemic_event_oldest_unsequenced_seconds",
        "Age of the oldest event that has no position yet.",
    ),
    "consolidation_lag_s": (
        "mnemic_consolidation_lag_seconds",
        "How long ago consolidation was last scheduled to run, for the tenant that waits longest.",
    ),
    "consumer_lag": ("mnemic_event_consumer_lag", "Events that the slowest consumer is behind."),
}

# What psycopg calls them → how they are published.
FROM_POOL: dict[str, tuple[str, str, Kind]] = {
    "pool_size": ("mnemic_pool_connections", "Connections that the pool has.", "gauge"),
    "pool_available": ("mnemic_pool_connections_idle", "Idle connections of the pool.", "gauge"),
    "pool_max": ("mnemic_pool_connections_max", "Connections that the pool may have.", "gauge"),
    "requests_waiting": ("mnemic_pool_requests_waiting", "Calls that wait for a connection.", "gauge"),
    "requests_num": ("mnemic_pool_requests", "Requests for a connection.", "counter"),
    "requests_errors": (
        "mnemic_pool_requests_failed",
        "Calls that did not get a connection in time.",
        "counter",
    ),
    "connections_num": ("mnemic_pool_connections_opened", "Connections that were opened.", "counter"),
    "connections_lost": ("mnemic_pool_connections_lost", "Connections that were found broken.", "counter"),
}


async def collect(database: Database, observed: CallMetrics) -> list[MetricFamily]:
    """Read all metrics."""
    return [
        *_calls(observed),
        *_model_calls(observed.model_calls),
        *proxy_metrics(observed.proxy),
        _context_levels(observed.context_levels),
        *_pool(database.pool_statistics()),
        *await _from_database(database),
    ]


def _calls(observed: CallMetrics) -> list[MetricFamily]:
    histograms = observed.histograms.items()
    return [
        MetricFamily(
            "mnemic_call_duration_seconds",
            "How long calls took in this process, by operation.",
            "histogram",
            [sample for operation, histogram in histograms for sample in _histogram(operation, histogram)],
        ),
        MetricFamily(
            "mnemic_calls_failed",
            "Calls that ended with an error in this process, by operation.",
            "counter",
            [Sample({"operation": name}, histogram.failed_count, "_total") for name, histogram in histograms],
        ),
        MetricFamily(
            "mnemic_recalls_refused",
            "Recalls in this process that found nothing close enough.",
            "counter",
            [Sample({}, observed.histograms["recall"].refused_count, "_total")],
        ),
        MetricFamily(
            "mnemic_recalls_weak",
            "Recalls in this process whose hits may not answer the query.",
            "counter",
            [Sample({}, observed.histograms["recall"].weak_count, "_total")],
        ),
    ]


def _model_calls(counts: ModelCallCounts) -> list[MetricFamily]:
    outcomes = (("made", counts.made), ("failed", counts.failed), ("refused", counts.refused))
    directions = (("input", counts.input_tokens), ("output", counts.output_tokens))
    return [
        MetricFamily(
            "mnemic_model_calls",
            "Calls of language models in this process, by purpose; a spend cap refused some.",
            "counter",
            [
                Sample({"purpose": purpose, "outcome": outcome}, count, "_total")
                for outcome, counter in outcomes
                for purpose, count in sorted(counter.items())
            ],
        ),
        MetricFamily(
            "mnemic_model_tokens",
            "Tokens that language models read and wrote for this process, by purpose.",
            "counter",
            [
                Sample({"purpose": purpose, "direction": direction}, count, "_total")
                for direction, counter in directions
                for purpose, count in sorted(counter.items())
            ],
        ),
        MetricFamily(
            "mnemic_model_spend_dollars",
            "What calls of language models of this process cost, by purpose, as far as their price is known.",
            "counter",
            [
                Sample({"purpose": purpose}, count / MICRODOLLARS, "_total")
                for purpose, count in sorted(counts.microdollars.items())
            ],
        ),
    ]


def _context_levels(counts: Mapping[str, int]) -> MetricFamily:
    return MetricFamily(
        "mnemic_context_levels",
        "Levels of context objects that a language model wrote in this process: written, or why dropped.",
        "counter",
        [Sample({"outcome": outcome}, count, "_total") for outcome, count in sorted(counts.items())],
    )


def proxy_metrics(counts: ProxyCounts) -> list[MetricFamily]:
    """What the proxy of this process did."""
    return [
        MetricFamily(
            "mnemic_proxy_requests_changed",
            "Requests of agents that the proxy of this process changed, by API.",
            "counter",
            [Sample({"api": api}, count, "_total") for api, count in sorted(counts.changed.items())],
        ),
        MetricFamily(
            "mnemic_proxy_requests_passed",
            "Requests of agents that passed the proxy of this process unchanged, by API and reason.",
            "counter",
            [
                Sample({"api": api, "reason": reason}, count, "_total")
                for (api, reason), count in sorted(counts.passed.items())
            ],
        ),
        MetricFamily(
            "mnemic_proxy_requests_refused",
            "Changed requests that the provider refused, by API; the original was sent then.",
            "counter",
            [Sample({"api": api}, count, "_total") for api, count in sorted(counts.refused.items())],
        ),
        MetricFamily(
            "mnemic_proxy_hidden_calls",
            "Calls of memory tools that the proxy of this process answered, by tool.",
            "counter",
            [Sample({"tool": tool}, count, "_total") for tool, count in sorted(counts.hidden_calls.items())],
        ),
        MetricFamily(
            "mnemic_proxy_failures",
            "What the proxy of this process could not store, by kind.",
            "counter",
            [Sample({"kind": kind}, count, "_total") for kind, count in sorted(counts.failed.items())],
        ),
        MetricFamily(
            "mnemic_proxy_prompt_tokens",
            "Tokens of prompts that providers reported, and how many of them were cached.",
            "counter",
            [
                Sample({"cached": "no"}, counts.prompt_tokens - counts.cached_tokens, "_total"),
                Sample({"cached": "yes"}, counts.cached_tokens, "_total"),
            ],
        ),
        MetricFamily(
            "mnemic_proxy_turns",
            "Turns that the proxy of this process recorded.",
            "counter",
            [Sample({}, counts.turn_count, "_total")],
        ),
    ]


def _histogram(operation: str, histogram: Histogram) -> list[Sample]:
    """Cumulative buckets, as Prometheus expects them."""
    bounds = [*(f"{bound_ms / 1000:g}" for bound_ms in BUCKETS_MS), "+Inf"]
    return [
        *(
            Sample({"operation": operation, "le": bound}, count, "_bucket")
            for bound, count in zip(bounds, accumulate(histogram.counts), strict=True)
        ),
        Sample({"operation": operation}, histogram.count, "_count"),
        Sample({"operation": operation}, histogram.total_ms / 1000, "_sum"),
    ]


def _pool(statistics: Mapping[str, int]) -> list[MetricFamily]:
    # psycopg omits counters that are still 0.
    return [
        MetricFamily(
            name, help, kind, [Sample({}, statistics.get(key, 0), "_total" if kind == "counter" else "")]
        )
        for key, (name, help, kind) in FROM_POOL.items()
    ]


async def _from_database(database: Database) -> list[MetricFamily]:
    async with database.privileged_transaction("working", "queue") as queries:
        rows = await queries.rows("observing.queue_metrics")
    return [
        MetricFamily(
            name,
            help,
            "gauge",
            [Sample(row["labels"], row["value"]) for row in rows if row["metric"] == metric],
        )
        for metric, (name, help) in FROM_DATABASE.items()
    ]
