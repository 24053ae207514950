"""Values of the audit log and the memory log."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

# What the memory log records: nothing; writing calls (the default); reading calls too; and also queries and
# results. `mnemic.config` has the same values.
LogLevel = Literal["off", "writes", "reads", "verbose"]

Phase = Literal["intent", "succeeded", "failed"]


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """The intent of an operation, or its outcome, which refers to the intent by `intent_id`."""

    audit_id: UUID
    intent_id: UUID | None
    owner: str | None
    process: str
    action: str
    target: str
    phase: Phase
    detail: dict[str, Any]
    at: datetime


ActOutcome = Literal["succeeded", "failed", "unfinished"]
"""How an action ended; an unfinished one still runs, or was interrupted."""


@dataclass(frozen=True, slots=True)
class AuditedOperation:
    """An operation with its outcome: both records of the audit log in one.

    `audit_id` is the id of the intent, `detail` its parameters, `result` the details of the outcome.
    """

    audit_id: UUID
    owner: str | None
    process: str
    action: str
    target: str
    detail: dict[str, Any]
    at: datetime
    outcome: ActOutcome
    result: dict[str, Any]
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One call, to be logged.

    `detail` explains the outcome: active thresholds, counts. `payload` holds the query and the result and is
    recorded only at the level `verbose`. `logged_at` is now unless given.
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
