"""Requests that may be repeated: who says the same `Idempotency-Key` again gets the first answer again.

A request is *unknown*, then *running* from `begin` on, then *done* when `finish` has kept its answer, which
`KEPT_S` later counts no more. One that fails is abandoned, which makes it unknown again: nothing was written,
so it may be made anew. An attempt that has been running for `STALE_S` died with its server; the next one
takes its place. It may then happen that something is written a second time, as without the key; what `retain`
is given again it recognises.

Beginning and finishing are one statement each (docs/adr/0017-statements-that-carry-their-signature.md): every
write of the SDK over HTTP waits for both.
"""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.types.identity import new_id

KEPT_S = 24 * 3600.0
STALE_S = 900.0
"""Longer than any request may take."""
ANSWER_MAX_BYTES = 8 * 1024**2


@dataclass(frozen=True)
class Repeatable:
    """Which request this is: of which key, by the hash of its route and the caller's word for it."""

    key_id: UUID
    request_hash: bytes
    owner: str | None


@dataclass(frozen=True)
class Begun:
    """This attempt carries the request out."""

    attempt_id: UUID


@dataclass(frozen=True)
class Answer:
    """What the first attempt answered. `body` is None where it was too large, or not to be kept."""

    body_hash: bytes
    status: int
    content_type: str | None
    body: bytes | None


async def begin(database: TenantDatabase, request: Repeatable) -> Begun | Answer | Literal["running"]:
    """Begin a request, or say what became of it."""
    attempt_id = new_id()
    parameters = {
        **_attempt(database, request, attempt_id),
        "owner": request.owner,
        "kept_s": KEPT_S,
        "stale_s": STALE_S,
    }
    if (await database.signed_row("idempotent_requests.begin", parameters))["is_begun"]:
        return Begun(attempt_id)
    async with database.transaction() as transaction:
        row = await transaction.first("idempotent_requests.get", parameters)
    if row is None or row["status"] is None:
        return "running"
    return Answer(row["body_hash"], row["status"], row["content_type"], row["answer"])


async def finish(
    database: TenantDatabase, request: Repeatable, attempt_id: UUID, answer: Answer, *, owner: str | None
) -> None:
    """Keep the answer. `owner` is whom the request turned out to be about."""
    fits = answer.body is not None and len(answer.body) <= ANSWER_MAX_BYTES
    parameters = {
        **_attempt(database, request, attempt_id),
        "owner": owner,
        "body_hash": answer.body_hash,
        "status": answer.status,
        "content_type": answer.content_type,
        "answer": answer.body if fits else None,
    }
    await database.signed_row("idempotent_requests.finish", parameters)


async def abandon(database: TenantDatabase, request: Repeatable, attempt_id: UUID) -> None:
    """Forget a request that was not carried out."""
    async with database.transaction() as transaction:
        await transaction.execute("idempotent_requests.abandon", _attempt(database, request, attempt_id))


async def prune(database: TenantDatabase, *, limit: int) -> int:
    """Forget some requests of the tenant that are older than they are kept; returns how many."""

    async def work(transaction: Transaction) -> int:
        return await transaction.execute("idempotent_requests.prune", {"kept_s": KEPT_S, "limit": limit})

    return await database.run(work)


def _attempt(database: TenantDatabase, request: Repeatable, attempt_id: UUID) -> dict[str, object]:
    return {
        "tenant_id": database.tenant.id,
        "key_id": request.key_id,
        "request_hash": request.request_hash,
        "attempt_id": attempt_id,
    }
