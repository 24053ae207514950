"""The queue as producers see it: enqueue jobs, read them, cancel and replay them.

A job is *waiting*, or *scheduled* until `run_at`; a worker makes it *running*, and then *done*. A failed job
is scheduled again, 30 seconds later, then a minute, doubling up to an hour. After `max_attempts` it is a dead
letter (*dead*) with its error stored, until it is replayed or pruned. A job can be *cancelled* at any time
before its end.

Enqueueing happens in the caller's transaction: the job exists if and only if the transaction commits. A job
that needs no other write is enqueued by a single statement, in one round trip. With a `key`, a job is
enqueued once per tenant and type, however often the call is repeated.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.json_value import as_jsonb_object, as_jsonb_objects
from mnemic.db.tenancy import Tenant
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.types.checks import check_choice, check_id, check_time, check_whole, check_window
from mnemic.types.job import JOB_STATES, Job, JobAttempt, JobCount, JobError, JobProgress
from mnemic.types.page import check_limit
from mnemic.types.scope import check_name

PAYLOAD_MAX_BYTES = 64 * 1024
PRIORITY_MIN = -100
PRIORITY_MAX = 100
ATTEMPTS_MAX = 100
ENQUEUE_MANY_MAX = 10_000
"""Maximum jobs in one call of `enqueue_many`."""
DEFAULT_ATTEMPTS = 5
REPLAY_MAX = 10_000
"""Maximum jobs in one call of `replay_dead`."""
COUNTED_MAX = 10_000
"""Jobs of one state that are counted, so that counting stays fast."""

_TYPE = re.compile(r"[a-z0-9][a-z0-9_.:-]{0,127}")


async def enqueue(
    place: Transaction | TenantDatabase,
    type: str,
    payload: Mapping[str, Any] | None = None,
    *,
    owner: str | None = None,
    key: str | None = None,
    priority: int = 0,
    run_at: datetime | str | None = None,
    max_attempts: int = DEFAULT_ATTEMPTS,
) -> Job:
    """Add a job in the caller's transaction, or, given a database, in one of its own.

    If the key was used before, returns the job that has it.
    """
    parameters = {
        **_common(place.tenant, type, owner, priority, run_at, max_attempts),
        "payload": _check_payload("payload", payload),
        "key": check_name("key", key) if key is not None else None,
        "signature": None,
    }
    if isinstance(place, Transaction):
        return await _add(place, parameters)
    if key is None:
        return job_from(await place.signed_row("queued_jobs.enqueue", parameters, wakeups={"jobs"}))
    async with place.transaction() as transaction:
        return await _add(transaction, parameters)


async def _add(transaction: Transaction, parameters: Mapping[str, Any]) -> Job:
    if parameters["key"] is None:
        return job_from(await transaction.one("queued_jobs.enqueue", parameters))
    row = await transaction.first("queued_jobs.enqueue_once", parameters)
    return job_from(row if row is not None else await transaction.one("queued_jobs.get_by_key", parameters))


async def enqueue_many(
    transaction: Transaction,
    type: str,
    payloads: Iterable[Mapping[str, Any]],
    *,
    owner: str | None = None,
    priority: int = 0,
    run_at: datetime | str | None = None,
    max_attempts: int = DEFAULT_ATTEMPTS,
) -> list[UUID]:
    """Add a job for each payload, all of one type; returns their ids in that order."""
    given = list(payloads)
    if len(given) > ENQUEUE_MANY_MAX:
        raise InvalidInputError(f"payloads: at most {ENQUEUE_MANY_MAX:,} in one call, not {len(given):,}.")
    parameters = {
        **_common(transaction.tenant, type, owner, priority, run_at, max_attempts),
        "payloads": as_jsonb_objects("payload", given, max_bytes=PAYLOAD_MAX_BYTES),
    }
    return [row["job_id"] for row in await transaction.rows("queued_jobs.enqueue_many", parameters)]


async def get_job(database: TenantDatabase, job_id: UUID | str) -> Job:
    """One job with its attempts; NotFoundError if there is no job of that id."""
    parameters = {"job_id": check_id("job_id", job_id)}
    async with database.transaction(snapshot=True) as transaction:
        row = await transaction.first("queued_jobs.get", parameters)
        attempts = await transaction.rows("queued_jobs.attempts", parameters)
    if row is None:
        raise NotFoundError(f"There is no job {job_id}. Finished jobs are deleted after some time.")
    return job_from(row, tuple(_attempt_from(attempt) for attempt in attempts))


@dataclass(frozen=True)
class JobFilter:
    """Which jobs to list; None matches all."""

    state: str | None = None
    type: str | None = None
    owner: str | None = None


async def list_jobs(
    database: TenantDatabase, filter: JobFilter, *, before: UUID | str | None, limit: int
) -> list[Job]:
    """Jobs, the newest first; `before` is the id of the last one on the page before."""
    parameters = {
        **_checked_filter(filter),
        "before": check_id("before", before) if before is not None else None,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        rows = await transaction.rows(
            "queued_jobs.dead" if filter.state == "dead" else "queued_jobs.list", parameters
        )
    return [job_from(row) for row in rows]


async def cancel_job(database: TenantDatabase, job_id: UUID | str) -> Job:
    """Cancel a job: immediately if it waits, or as soon as its worker stops it if it runs.

    ConflictError if it has ended, NotFoundError if there is no job of that id.
    """
    parameters = {"job_id": check_id("job_id", job_id)}
    async with database.transaction() as transaction:
        row = await transaction.one("queued_jobs.cancel", parameters)
    job = await get_job(database, job_id)
    if row["state"] is None and job.state != "cancelled":
        raise ConflictError(f"The job {job_id} is {job.state}: it cannot be cancelled.")
    return job


async def replay_job(database: TenantDatabase, job_id: UUID | str) -> Job:
    """Let a dead job run again, with all its attempts; ConflictError if it is not dead."""
    parameters = {"job_id": check_id("job_id", job_id)}
    async with database.transaction() as transaction:
        row = await transaction.one("queued_jobs.replay", parameters)
    job = await get_job(database, job_id)
    if not row["replayed_count"]:
        raise ConflictError(f"The job {job_id} is {job.state}; only dead jobs are replayed.")
    return job


async def replay_dead_jobs(
    database: TenantDatabase,
    filter: JobFilter,
    *,
    since: datetime | str | None,
    until: datetime | str | None,
    limit: int,
) -> int:
    """Let the oldest dead jobs that match run again, in one statement; returns how many."""
    parameters = {
        **_checked_filter(filter),
        **check_window(since, until),
        "limit": check_whole("limit", limit, 1, REPLAY_MAX),
    }
    async with database.transaction() as transaction:
        return int((await transaction.one("queued_jobs.replay_dead", parameters))["replayed_count"])


async def count_jobs(database: TenantDatabase) -> list[JobCount]:
    """Jobs by state and type; at most `COUNTED_MAX` of each state are counted."""
    async with database.transaction() as transaction:
        rows = await transaction.rows("queued_jobs.counts", {"most": COUNTED_MAX})
    return [JobCount(**row) for row in rows]


def check_type(value: object) -> str:
    """A valid job type, or InvalidInputError."""
    if isinstance(value, str) and _TYPE.fullmatch(value):
        return value
    raise InvalidInputError(
        "type must be 1 to 128 lower-case letters, digits and . _ : - and begin with a letter or a digit, "
        f"as in documents.ingest, not {ascii(value)[:80]}."
    )


def job_from(row: Row, history: tuple[JobAttempt, ...] = ()) -> Job:
    """A job from its row."""
    progress = JobProgress(**row["progress"]) if row["progress"] is not None else None
    return Job(**{**row, "progress": progress, "error": _error_from(row["error"])}, history=history)


def _attempt_from(row: Row) -> JobAttempt:
    return JobAttempt(**{**row, "error": _error_from(row["error"])})


def _error_from(value: Mapping[str, str] | None) -> JobError | None:
    return JobError(**value) if value is not None else None


def _checked_filter(filter: JobFilter) -> dict[str, str | None]:
    return {
        "state": check_choice("state", filter.state, JOB_STATES) if filter.state is not None else None,
        "type": check_type(filter.type) if filter.type is not None else None,
        "owner": check_name("owner", filter.owner) if filter.owner is not None else None,
    }


def _common(
    tenant: Tenant,
    type: str,
    owner: str | None,
    priority: int,
    run_at: datetime | str | None,
    max_attempts: int,
) -> dict[str, Any]:
    return {
        "tenant_id": tenant.id,
        "type": check_type(type),
        "owner": check_name("owner", owner) if owner is not None else None,
        "priority": check_whole("priority", priority, PRIORITY_MIN, PRIORITY_MAX),
        "run_at": check_time("run_at", run_at) if run_at is not None else None,
        "max_attempts": check_whole("max_attempts", max_attempts, 1, ATTEMPTS_MAX),
    }


def _check_payload(field: str, payload: Mapping[str, Any] | None) -> Jsonb:
    return as_jsonb_object(field, payload if payload is not None else {}, max_bytes=PAYLOAD_MAX_BYTES)
