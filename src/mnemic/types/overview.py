"""Numbers about a tenant: latencies, jobs, events, snapshots of views."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

SnapshotName = Literal["tenant_summary", "metrics_24h", "stale_active", "dead_xrefs", "growth_7d"]
SNAPSHOT_NAMES: tuple[SnapshotName, ...] = get_args(SnapshotName)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The rows of one of the views of `SNAPSHOT_NAMES` at one time."""

    name: SnapshotName
    rows: Sequence[Mapping[str, Any]]
    taken_at: datetime


@dataclass(frozen=True, slots=True)
class Latency:
    """Latency of calls of one kind; percentiles are None without calls."""

    call_count: int
    failed_count: int
    refused_count: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True, slots=True)
class QueueOverview:
    """Jobs of the tenant. `oldest_ready_s` is how long the oldest waiting job has waited."""

    waiting_count: int
    scheduled_count: int
    running_count: int
    dead_count: int
    oldest_ready_s: float | None
    finished_24h_count: int
    retried_24h_count: int


@dataclass(frozen=True, slots=True)
class EventOverview:
    """Events of the tenant: how many have no position yet, and how far the slowest consumer is behind."""

    last_position: int
    unsequenced_count: int
    consumer_lag: int


@dataclass(frozen=True, slots=True)
class ConsolidationOverview:
    """Turns that consolidation has not read, and how long ago the oldest of them was stored."""

    unread_turn_count: int
    oldest_unread_s: float | None


@dataclass(frozen=True, slots=True)
class Overview:
    """Current numbers of the tenant.

    `latency` is that of this process since it opened the tenant, by operation; `latency_24h` that of all
    processes, from the memory log, if calls are logged. `archived_per_day` covers the last seven days and
    comes from the last snapshot.
    """

    latency: Mapping[str, Latency]
    latency_24h: Mapping[str, Latency]
    queue: QueueOverview
    events: EventOverview
    consolidation: ConsolidationOverview
    awaiting_embedding_count: int
    archived_per_day: Mapping[str, int]
