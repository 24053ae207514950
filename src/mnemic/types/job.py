"""Jobs as callers see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

JobState = Literal["waiting", "scheduled", "running", "done", "dead", "cancelled"]
AttemptOutcome = Literal["done", "failed", "crashed", "cancelled", "handed_back"]

JOB_STATES: tuple[str, ...] = get_args(JobState)


@dataclass(frozen=True, slots=True)
class JobError:
    """Why an attempt did not go well: the kind of error, what it said, and where it came from."""

    type: str
    message: str
    traceback: str


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a job has come, as its handler reported it."""

    done: float | None
    total: float | None
    note: str | None


@dataclass(frozen=True, slots=True)
class JobAttempt:
    """One time that a worker took a job: how it ended, and how long it took.

    `handed_back` is one that ended because its worker was stopped; it does not count as an attempt.
    """

    outcome: AttemptOutcome
    error: JobError | None
    worker: str
    started_at: datetime
    ended_at: datetime

    @property
    def duration_s(self) -> float:
        """By the database's clock."""
        return (self.ended_at - self.started_at).total_seconds()


@dataclass(frozen=True, slots=True)
class Job:
    """One job. `attempts` counts those that were begun, the running one included.

    `worker`, `started_at` and `error` are those of the last attempt; `history` holds all attempts that have
    ended, oldest first, where a single job was asked for.
    """

    job_id: UUID
    type: str
    payload: dict[str, Any]
    owner: str | None
    key: str | None
    priority: int
    state: JobState
    run_at: datetime
    attempts: int
    max_attempts: int
    cancel_requested: bool
    progress: JobProgress | None
    result: Any
    error: JobError | None
    worker: str | None
    started_at: datetime | None
    created_at: datetime
    finished_at: datetime | None
    history: tuple[JobAttempt, ...] = ()

    @property
    def has_ended(self) -> bool:
        """Whether it is done, dead or cancelled."""
        return self.finished_at is not None
