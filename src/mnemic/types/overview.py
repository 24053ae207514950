"""How a tenant and its machinery are doing, in numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

SnapshotName = Literal["tenant_summary", "metrics_24h", "stale_active", "dead_xrefs", "growth_7d"]
SNAPSHOT_NAMES: tuple[SnapshotName, ...] = get_args(SnapshotName)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one of the views of `SNAPSHOT_NAMES` showed at a moment, row by row."""

    name: SnapshotName
    rows: Sequence[Mapping[str, Any]]
    taken_at: datetime


@dataclass(frozen=True, slots=True)
class Latency:
    """How long calls of one kind took; percentiles are None where there was no call."""

    call_count: int
    failed_count: int
    refused_count: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True, slots=True)
class QueueOverview:
    """Jobs of the tenant. `oldest_ready_s` is how long the one has waited that has waited longest."""

    waiting_count: int
    scheduled_count: int
    running_count: int
    dead_count: int
    oldest_ready_s: float | None
    finished_24h_count: int
    retried_24h_count: int


@dataclass(frozen=True, slots=True)
class EventOverview:
    """Events of the tenant: how many nobody can read yet, and how far the slowest consumer is behind."""

    last_position: int
    unsequenced_count: int
    consumer_lag: int


@dataclass(frozen=True, slots=True)
class Overview:
    """How the tenant is doing now.

    `latency` is what this process saw since it opened, by operation; `latency_24h` what the memory log says
    of all processes, where calls are logged. `archived_per_day` is of the last seven days, as the last
    snapshot has it.
    """

    latency: Mapping[str, Latency]
    latency_24h: Mapping[str, Latency]
    queue: QueueOverview
    events: EventOverview
    awaiting_embedding_count: int
    archived_per_day: Mapping[str, int]
