"""Values of the tiers."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, get_args
from uuid import UUID

from mnemic.types.memory import Provenance

Severity = Literal["low", "medium", "high", "critical"]
MetricKind = Literal["recall", "retain", "query", "mutation", "inference"]

SEVERITIES: tuple[str, ...] = get_args(Severity)
METRIC_KINDS: tuple[str, ...] = get_args(MetricKind)


@dataclass(frozen=True)
class StateDocument:
    """One JSON document under a key. `version` counts its changes from 1."""

    owner: str
    key: str
    document: Any
    version: int
    process: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class TierEvent:
    """Fields of every event. `at` is when it happened, `recorded_at` when it was stored."""

    event_id: UUID
    owner: str
    channel: str
    process: str
    at: datetime
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class JournalEvent(TierEvent):
    """A cycle of an agent: what it evaluated, what it did, what it plans next. Any JSON."""

    evaluated: Any
    acted: Any
    forward: Any
    extra: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RevenueEvent(TierEvent):
    """Revenue; a negative amount was paid back. `source` says what it was for."""

    amount: Decimal
    currency: str
    source: str
    description: str | None
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RevenueTotal:
    """The sum of `count` events in one currency."""

    currency: str
    total: Decimal
    count: int


@dataclass(frozen=True, slots=True)
class ErrorEvent(TierEvent):
    """An error in a system that uses this memory."""

    kind: str
    message: str
    detail: dict[str, Any]
    severity: Severity


@dataclass(frozen=True, slots=True)
class MetricEvent(TierEvent):
    """One measured value."""

    kind: MetricKind
    name: str
    value: float
    unit: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """The values of one kind, name and unit in a window; percentiles are interpolated."""

    kind: MetricKind
    name: str
    unit: str
    count: int
    mean: float
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class ActorFlag:
    """A reason not to trust an actor, valid until it is cleared."""

    flag_id: UUID
    owner: str
    process: str
    actor: str
    reason: str
    severity: Severity
    evidence: list[str]
    flagged_at: datetime
    cleared_at: datetime | None
    clearing_reason: str | None


@dataclass(frozen=True, slots=True)
class ProcessAttribute:
    """One attribute of a process; `set_by` is the process that set it."""

    owner: str
    process: str
    attribute: str
    value: Any
    provenance: Provenance
    evidence: list[str]
    confidence: float
    set_by: str
    created_at: datetime
    updated_at: datetime
