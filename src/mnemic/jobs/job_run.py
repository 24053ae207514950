"""One attempt at a job: runs its handler, and describes the outcome as JSON."""

import asyncio
import logging
import threading
import time
import traceback
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple
from uuid import UUID

from mnemic.db.json_value import as_jsonb
from mnemic.db.tenancy import Tenant
from mnemic.errors import InvalidInputError, MnemicError, PermanentJobError, SpendCapError
from mnemic.jobs.handlers import Handler, JsonValue, RunningJob
from mnemic.types.job import JobProgress

RESULT_MAX_BYTES = 64 * 1024
MESSAGE_MAX_CHARACTERS = 2_000
TRACEBACK_MAX_CHARACTERS = 8_000

Reason = Literal["stopping", "cancelled", "lost"]
"""Why an attempt is cancelled: its worker stops, a caller cancelled the job, or another worker has it now."""

logger = logging.getLogger("mnemic.worker")


class Claim(NamedTuple):
    """A claimed job; the columns of the query `workers.settle_and_claim`, in their order."""

    tenant_id: UUID
    job_id: UUID
    owner: str | None
    type: str
    payload: dict[str, Any]
    attempt: int
    claim: int
    progress: dict[str, Any] | None


@dataclass(eq=False)
class JobRun:
    """One attempt at a claimed job: *running*, then *ended* with an `outcome`."""

    claim: int
    job: RunningJob
    reason: Reason | None = None
    outcome: dict[str, Any] = field(default_factory=dict)
    task: "asyncio.Task[None] | None" = None

    @classmethod
    def claimed(cls, claim: Claim, tenant: Tenant) -> "JobRun":
        """From a row of the claim."""
        job = RunningJob(
            id=claim.job_id,
            type=claim.type,
            payload=claim.payload,
            owner=claim.owner,
            attempt=claim.attempt,
            tenant=tenant,
            progress=JobProgress(**claim.progress) if claim.progress is not None else None,
        )
        return cls(claim.claim, job)

    @property
    def key(self) -> tuple[UUID, int]:
        """The job, and the number of its claim."""
        return self.job.id, self.claim

    async def run(self, handler: Handler) -> None:
        """Run the handler and set `outcome`. An exception of the handler becomes part of the outcome."""
        began_s = time.monotonic()
        try:
            self.outcome = _done(await handler(self.job))
        except BaseException as error:
            # A handler may raise anything; it is stored, and logged below. SystemExit, too: it would end the
            # worker, and then the next worker that gets the job.
            if isinstance(error, asyncio.CancelledError) or _is_interrupt(error):
                raise
            self.outcome = _failed(error)
        _log(self, began_s)

    def cancel(self, reason: Reason) -> None:
        """Cancel the handler, once. The reason "lost" overrides an earlier one."""
        is_first = self.reason is None
        if is_first or reason == "lost":
            self.reason = reason
        if is_first and self.task is not None:
            self.task.cancel()

    def abandon(self) -> None:
        """Cancel the handler again, when nothing waits for it any more."""
        if self.task is not None:
            self.task.cancel()

    def finish(self) -> bool:
        """Called when the handler has ended; returns whether its outcome must be written.

        A cancelled handler has set no outcome, even if it never reached its first line.
        """
        if not self.outcome and self.reason is not None:
            self.outcome = {"outcome": "cancelled" if self.reason == "cancelled" else "handed_back"}
        return bool(self.outcome) and self.reason != "lost"

    def settlement(self) -> dict[str, Any]:
        """Outcome payload."""
        return {**self.reference(), **self.outcome, "progress": self.progress_value()}

    def report(self) -> dict[str, Any]:
        """Progress payload."""
        return {**self.reference(), "progress": self.progress_value()}

    def progress_value(self) -> dict[str, Any] | None:
        return asdict(self.job.progress) if self.job.progress is not None else None

    def reference(self) -> dict[str, Any]:
        """Identifies the attempt in the database."""
        return {"tenant_id": str(self.job.tenant.id), "job_id": str(self.job.id), "claim": self.claim}


def _done(result: JsonValue) -> dict[str, Any]:
    if result is None:
        return {"outcome": "done"}
    try:
        as_jsonb("the result", result, max_bytes=RESULT_MAX_BYTES)
    except InvalidInputError as error:
        raise InvalidInputError(f"The handler must return JSON, or nothing: {error}") from None
    return {"outcome": "done", "result": result}


def _failed(error: BaseException) -> dict[str, Any]:
    """The outcome for an exception. A spend cap parks the job until its period ends, without an attempt."""
    if isinstance(error, SpendCapError) and error.retry_at is not None:
        return {
            "outcome": "handed_back",
            "error": describe(error),
            "parked_until": error.retry_at.isoformat(),
        }
    return {
        "outcome": "failed",
        "error": describe(error),
        "is_final": isinstance(error, PermanentJobError),
    }


def _is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C was pressed, which Python reports in the main thread only."""
    is_main = threading.current_thread() is threading.main_thread()
    return isinstance(error, KeyboardInterrupt) and is_main


def describe(error: BaseException) -> dict[str, str]:
    """An error as it is stored: type, message and traceback, each of bounded length."""
    described = traceback.TracebackException.from_exception(error)
    _leave_out_causes_of_ours(described, error)
    lines = "".join(described.format())
    return {
        "type": type(error).__name__,
        "message": _storable(str(error))[:MESSAGE_MAX_CHARACTERS],
        # The end names the error; the beginning only lists callers.
        "traceback": _storable(lines)[-TRACEBACK_MAX_CHARACTERS:],
    }


def _leave_out_causes_of_ours(described: traceback.TracebackException, error: BaseException) -> None:
    """Leave out what caused an error of Mnemic: tenants read this, and a model's message may hold secrets."""
    if isinstance(error, MnemicError):
        described.__cause__ = described.__context__ = None
    for part, cause in (
        (described.__cause__, error.__cause__),
        (described.__context__, error.__context__),
        *zip(described.exceptions or (), getattr(error, "exceptions", ()), strict=False),
    ):
        if part is not None and cause is not None:
            _leave_out_causes_of_ours(part, cause)


def _storable(text: str) -> str:
    """Escape characters that PostgreSQL cannot store."""
    return text.replace("\0", "\\0").encode(errors="backslashreplace").decode()


def _log(attempt: JobRun, began_s: float) -> None:
    """Log the outcome without payloads and messages, which belong to the tenant."""
    job, outcome = attempt.job, attempt.outcome
    level = logging.INFO if outcome["outcome"] == "done" else logging.WARNING
    if not logger.isEnabledFor(level):
        return
    facts = {
        "job_id": str(job.id),
        "job_type": job.type,
        "attempt": job.attempt,
        "outcome": outcome["outcome"],
        "error_type": outcome.get("error", {}).get("type"),
        "duration_ms": round((time.monotonic() - began_s) * 1000, 1),
    }
    logger.log(level, "job %(job_id)s (%(job_type)s) %(outcome)s", facts, extra=facts)
