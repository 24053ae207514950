"""Values of the audit log and the memory log."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

# How much the memory log keeps: nothing; calls that write (the default); calls that read, too; and
# with them what was asked and answered. `mnemic.config` has the same words.
LogLevel = Literal["off", "writes", "reads", "verbose"]

Phase = Literal["intent", "succeeded", "failed"]


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One half of an act: its intent, or its outcome, which names its intent by `intent_id`."""

    audit_id: UUID
    intent_id: UUID | None
    owner: str | None
    process: str
    action: str
    target: str
    phase: Phase
    detail: dict[str, Any]
    at: datetime


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One call, to be logged.

    `detail` holds what explains the outcome: thresholds that were active, counts. `payload` holds
    what was asked and answered and is kept at the level `verbose` only. `logged_at` is now unless given.
    """

    operation: str
    owner: str
    channel: str
    process: str
    memory_count: int
    conversation: str | None = None
    duration_ms: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    payload: Mapping[str, Any] = field(default_factory=dict)
    logged_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """One call as the memory log has it."""

    log_id: UUID
    logged_at: datetime
    owner: str
    channel: str
    process: str
    conversation: str | None
    operation: str
    memory_count: int
    duration_ms: float | None
    detail: dict[str, Any]
