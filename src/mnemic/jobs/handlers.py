"""Handlers: the functions that run jobs.

A handler is an async function that takes a `RunningJob` and returns JSON, or nothing. It may run again for
the same job: after a failure, after a crash of its process, after its worker was stopped. So a handler works
in repeatable steps, and resumes by `job.progress` or by what it finds in the database. When its worker stops
or a caller cancels the job, the handler is cancelled as an asyncio task.
"""

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

from mnemic.db.tenancy import Tenant
from mnemic.types.checks import check_number, check_text
from mnemic.types.job import JobProgress

NOTE_MAX_CHARACTERS = 1000

JsonValue: TypeAlias = "bool | int | float | str | list[Any] | dict[str, Any] | None"


class _Reported:
    """What `report` returns. Awaiting it is optional, so that plain functions can report too."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


@dataclass
class RunningJob:
    """A job while its handler runs. `attempt` counts from 1; `progress` is the last report."""

    id: UUID
    type: str
    payload: dict[str, Any]
    owner: str | None
    attempt: int
    tenant: Tenant
    progress: JobProgress | None = None
    has_new_progress: bool = field(default=False, repr=False)
    """Whether there is progress that the worker has not written to the database yet."""

    def report(
        self, *, done: float | None = None, total: float | None = None, note: str | None = None
    ) -> Awaitable[None]:
        """Report progress, as often as you like: the worker writes the last report once a second."""
        self.progress = JobProgress(
            done=check_number("done", done) if done is not None else None,
            total=check_number("total", total) if total is not None else None,
            note=check_text("note", note, max_characters=NOTE_MAX_CHARACTERS) if note is not None else None,
        )
        self.has_new_progress = True
        return _Reported()


Handler = Callable[[RunningJob], Awaitable[JsonValue]]
