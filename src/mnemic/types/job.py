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
    """Why an attempt failed: type, message and traceback of the exception."""

    type: str
    message: str
    traceback: str


@dataclass(frozen=True, slots=True)
class JobProgress:
    """Progress of a job, as its handler reported it."""

    done: float | None
    total: float | None
    note: str | None


@dataclass(frozen=True, slots=True)
class JobAttempt:
    """One attempt of a worker: how it ended, and how long it took.

    `handed_back` means that the worker was stopped and returned the job, or that a spend cap parked it, which
    `error` then says; it does not count as an attempt.
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
    """One job. `attempts` counts the started attempts, the running one included.

    `worker`, `started_at` and `error` are those of the last attempt, also while the job waits for a retry.
    `history` holds all ended attempts, oldest first, if a single job was requested.
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


@dataclass(frozen=True, slots=True)
class JobCount:
    """How many jobs of one state and type there are.

    At most 10,000 jobs of each state are counted, the newest ones of those that have ended; `has_more` says
    that there are more.
    """

    state: JobState
    type: str
    job_count: int
    has_more: bool
