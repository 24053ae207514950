"""One attempt at a job: running its handler, and saying in JSON how that ended."""

import asyncio
import logging
import time
import traceback
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple
from uuid import UUID

from mnemic.db.json_value import as_jsonb
from mnemic.db.tenancy import Tenant
from mnemic.errors import InvalidInputError
from mnemic.jobs.handling import Handler, JsonValue, RunningJob
from mnemic.types.job import JobProgress

RESULT_MAX_BYTES = 64 * 1024
MESSAGE_MAX_CHARACTERS = 2_000
TRACEBACK_MAX_CHARACTERS = 8_000

Reason = Literal["stopping", "cancelled", "lost"]
"""Why an attempt is cancelled: its worker stops, somebody wants it so, or it is another worker's by now."""

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
class Attempt:
    """A claimed job on its way: *running*, then *ended* with an `outcome`."""

    claim: int
    job: RunningJob
    reason: Reason | None = None
    outcome: dict[str, Any] = field(default_factory=dict)
    task: "asyncio.Task[None] | None" = None

    @classmethod
    def claimed(cls, claim: Claim, tenant: Tenant) -> "Attempt":
        """From what claiming returned."""
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
        """Which job, and which time that it was claimed."""
        return self.job.id, self.claim

    async def run(self, handler: Handler) -> None:
        """Do the job; afterwards `outcome` says how that ended. Nothing that a handler raises gets out."""
        began_s = time.monotonic()
        try:
            self.outcome = _done(await handler(self.job))
        except Exception as error:  # noqa: BLE001 — a handler may raise anything; it is kept, and logged below
            self.outcome = {"outcome": "failed", "error": describe(error)}
        _log(self, began_s)

    def cancel(self, reason: Reason) -> None:
        """Have the handler stop, once. That the job is another's by now outweighs any other reason."""
        is_first = self.reason is None
        if is_first or reason == "lost":
            self.reason = reason
        if is_first and self.task is not None:
            self.task.cancel()

    def abandon(self) -> None:
        """Cancel the handler for good: nobody waits for it any more."""
        if self.task is not None:
            self.task.cancel()

    def end(self) -> bool:
        """Called when the handler is through: whether there is something to tell the database.

        A handler that was cancelled left no outcome, also if it never got to its first line.
        """
        if not self.outcome and self.reason is not None:
            self.outcome = {"outcome": "cancelled" if self.reason == "cancelled" else "handed_back"}
        return bool(self.outcome) and self.reason != "lost"

    def settlement(self) -> dict[str, Any]:
        """What the database is told about the end."""
        return {**self.reference(), **self.outcome, "progress": self.progress_value()}

    def report(self) -> dict[str, Any]:
        """What the database is told on the way."""
        return {**self.reference(), "progress": self.progress_value()}

    def progress_value(self) -> dict[str, Any] | None:
        return asdict(self.job.progress) if self.job.progress is not None else None

    def reference(self) -> dict[str, Any]:
        """Which attempt this is."""
        return {"tenant_id": str(self.job.tenant.id), "job_id": str(self.job.id), "claim": self.claim}


def _done(result: JsonValue) -> dict[str, Any]:
    if result is None:
        return {"outcome": "done"}
    try:
        as_jsonb("the result", result, max_bytes=RESULT_MAX_BYTES)
    except InvalidInputError as error:
        raise InvalidInputError(f"The handler must return JSON, or nothing: {error}") from None
    return {"outcome": "done", "result": result}


def describe(error: BaseException) -> dict[str, str]:
    """An error as it is kept: its type, what it said, and where it came from; all of it bounded."""
    lines = "".join(traceback.format_exception(error))
    return {
        "type": type(error).__name__,
        "message": _storable(str(error))[:MESSAGE_MAX_CHARACTERS],
        # The end tells what happened, the beginning only who called.
        "traceback": _storable(lines)[-TRACEBACK_MAX_CHARACTERS:],
    }


def _storable(text: str) -> str:
    """As PostgreSQL can store it, whatever a handler's error says."""
    return text.replace("\0", "\\0").encode(errors="backslashreplace").decode()


def _log(attempt: Attempt, began_s: float) -> None:
    """What happened, without payloads and messages: they are the tenant's."""
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
