"""Values of schedules."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Schedule:
    """A recurring job: by `cron` in a time zone, or every `every_s` seconds.

    `problem` says why it was disabled automatically, because its next time could not be computed.
    """

    name: str
    job_type: str
    payload: dict[str, Any]
    owner: str | None
    priority: int
    cron: str | None
    every_s: int | None
    timezone: str
    enabled: bool
    problem: str | None
    next_run_at: datetime
    last_run_at: datetime | None
    last_job_id: UUID | None
    created_at: datetime
    updated_at: datetime
