"""What a handler is, and what it is given.

A handler is an async function that takes a `RunningJob` and returns JSON, or nothing. It may be run again
for the same job: after a failure, after a crash of its process, after its worker was stopped. So it does
its work in steps that can be repeated, and picks up where it was by `job.progress` or by what it finds in
the database. When its worker stops or somebody cancels the job, it gets asyncio's cancellation.
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


class _Noted:
    """What `report` returns: can be awaited, and need not be, so that plain functions can report, too."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


@dataclass
class RunningJob:
    """A job while its handler works on it. `attempt` counts from 1; `progress` is what was reported last."""

    id: UUID
    type: str
    payload: dict[str, Any]
    owner: str | None
    attempt: int
    tenant: Tenant
    progress: JobProgress | None = None
    has_news: bool = field(default=False, repr=False)
    """Whether there is progress that the worker has not written yet."""

    def report(
        self, *, done: float | None = None, total: float | None = None, note: str | None = None
    ) -> Awaitable[None]:
        """Say how far the job has come, as often as you like: the worker writes it once a second."""
        self.progress = JobProgress(
            done=check_number("done", done) if done is not None else None,
            total=check_number("total", total) if total is not None else None,
            note=check_text("note", note, max_characters=NOTE_MAX_CHARACTERS) if note is not None else None,
        )
        self.has_news = True
        return _Noted()


Handler = Callable[[RunningJob], Awaitable[JsonValue]]
