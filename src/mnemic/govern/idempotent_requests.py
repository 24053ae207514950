"""Idempotent requests: a repeated `Idempotency-Key` gets the response of the first request.

A request is *unknown*, then *running* after `begin`, then *done* after `finish` has stored its response,
which is kept for `KEPT_S`. A request that fails is abandoned and *unknown* again: nothing was written, so it
may be retried. A server renews its running attempts every `RENEW_EVERY_S`. An attempt that was not renewed
for `STALE_S` died with its server, and the next attempt replaces it. In that case a write may happen twice,
as without a key; `retain` recognises duplicates.

`begin` and `finish` are one statement each (docs/adr/0017-statements-that-carry-their-signature.md), because
every write of the SDK over HTTP waits for both.
"""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.types.identity import new_id

KEPT_S = 24 * 3600.0
RENEW_EVERY_S = 2.0
STALE_S = 10.0
"""Several times `RENEW_EVERY_S`, so that a busy server is not taken for a dead one."""
ANSWER_MAX_BYTES = 8 * 1024**2


@dataclass(frozen=True)
class IdempotentRequest:
    """Identity of a request: the API key, and a hash of the route, the scope and the idempotency key.

    `owner` is the owner that the request concerns; its response is erased with that owner.
    """

    key_id: UUID
    request_hash: bytes
    owner: str | None


@dataclass(frozen=True)
class StartedAttempt:
    """The request is new; this attempt carries it out."""

    attempt_id: UUID


@dataclass(frozen=True)
class StoredResponse:
    """The response of the first attempt. `body` is None if it was too large, or must not be stored."""

    body_hash: bytes
    status: int
    content_type: str | None
    body: bytes | None


async def begin(
    database: TenantDatabase, request: IdempotentRequest
) -> StartedAttempt | StoredResponse | Literal["running"]:
    """Begin a request; if it was begun before, return its response or `running`."""
    attempt_id = new_id()
    parameters = {
        **_attempt(database, request, attempt_id),
        "owner": request.owner,
        "kept_s": KEPT_S,
        "stale_s": STALE_S,
    }
    if (await database.signed_row("idempotent_requests.begin", parameters))["is_begun"]:
        return StartedAttempt(attempt_id)
    async with database.transaction() as transaction:
        row = await transaction.first("idempotent_requests.get", parameters)
    if row is None or row["status"] is None:
        return "running"
    return StoredResponse(row["body_hash"], row["status"], row["content_type"], row["answer"])


async def finish(
    database: TenantDatabase,
    request: IdempotentRequest,
    attempt_id: UUID,
    answer: StoredResponse,
) -> None:
    """Store the response."""
    fits = answer.body is not None and len(answer.body) <= ANSWER_MAX_BYTES
    parameters = {
        **_attempt(database, request, attempt_id),
        "owner": request.owner,
        "body_hash": answer.body_hash,
        "status": answer.status,
        "content_type": answer.content_type,
        "answer": answer.body if fits else None,
    }
    await database.signed_row("idempotent_requests.finish", parameters)


async def renew(database: TenantDatabase, request: IdempotentRequest, attempt_id: UUID) -> None:
    """Note that this attempt is still running."""
    async with database.transaction() as transaction:
        await transaction.execute("idempotent_requests.renew", _attempt(database, request, attempt_id))


async def abandon(database: TenantDatabase, request: IdempotentRequest, attempt_id: UUID) -> None:
    """Delete a request that was not carried out."""
    async with database.transaction() as transaction:
        await transaction.execute("idempotent_requests.abandon", _attempt(database, request, attempt_id))


async def prune(database: TenantDatabase, *, limit: int) -> int:
    """Delete some expired requests of the tenant; returns how many."""

    async def work(transaction: Transaction) -> int:
        return await transaction.execute("idempotent_requests.prune", {"kept_s": KEPT_S, "limit": limit})

    return await database.run(work)


def _attempt(database: TenantDatabase, request: IdempotentRequest, attempt_id: UUID) -> dict[str, object]:
    return {
        "tenant_id": database.tenant.id,
        "key_id": request.key_id,
        "request_hash": request.request_hash,
        "attempt_id": attempt_id,
    }
