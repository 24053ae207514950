"""Grants between owners: without one, no owner reads the memories of another.

A grant is *active* until it *expires*, if it has an expiry, or is *revoked* by the owner who gave it. The
next statement of every other transaction sees that. Both are final: the grant stays as history, and access
needs a new grant. Recall reads the active ones by `readable_grants`, in its own transaction.

Granting and revoking are audited, by the id of the grant. The audit log does not name the reader, so that
erasing the reader leaves no trace there; erasing an owner erases the grants that it gave and received.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.pagination import newest_first
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.govern.audit import audited
from mnemic.types.checks import check_choice, check_flag, check_id, check_text, check_time
from mnemic.types.identity import new_id
from mnemic.types.memory import CATEGORIES
from mnemic.types.scope import Scope, check_name
from mnemic.types.share import Grant, ReadableGrant
from mnemic.types.tags import check_tags

REASON_MAX_CHARACTERS = 1024
# Every recall reads all active grants of its owner, so their number is limited.
ACTIVE_MAX = 1000


async def grant(
    database: TenantDatabase,
    scope: Scope,
    to: str,
    *,
    channel: str | None,
    categories: Iterable[str] | None,
    tags: Iterable[str] | None,
    conversation: str | None,
    expires_at: datetime | str | None,
    reason: str | None,
) -> Grant:
    """Let another owner recall memories; ConflictError if that owner has ACTIVE_MAX active grants already."""
    owner = scope.require_owner()
    what = {
        "channel": check_name("channel", channel) if channel is not None else None,
        "categories": _check_categories(categories) if categories is not None else None,
        "tags": _check_some_tags(tags) if tags is not None else None,
        "conversation": check_name("conversation", conversation) if conversation is not None else None,
        "expires_at": _check_expiry(expires_at) if expires_at is not None else None,
    }
    parameters = {
        **what,
        "tenant_id": database.tenant.id,
        "grant_id": new_id(),
        "owner": owner,
        "granted_to": _check_reader(to, owner),
        "process": scope.process,
        "reason": _check_reason(reason),
        "active_max": ACTIVE_MAX,
    }
    target = str(parameters["grant_id"])
    async with (
        audited(database, scope, action="grant_share", target=target, detail=_written(what)) as act,
        database.transaction() as transaction,
    ):
        granted = await _add(transaction, parameters)
        await act.commit_with(transaction)
    return granted


async def revoke(
    database: TenantDatabase, scope: Scope, grant_id: UUID | str, *, reason: str | None
) -> Grant:
    """Revoke a grant that the owner gave. A revoked one stays as it is, and is not audited again."""
    parameters = {
        "owner": scope.require_owner(),
        "grant_id": check_id("grant_id", grant_id),
        "reason": _check_reason(reason),
    }
    async with database.transaction() as transaction:
        given = await _get(transaction, parameters)
    if given.revoked_at is not None:
        return given
    target = str(given.grant_id)
    async with (
        audited(database, scope, action="revoke_share", target=target) as act,
        database.transaction() as transaction,
    ):
        # 0 if another call revoked it in the meantime.
        act.outcome(revoked_count=await transaction.execute("shares.revoke", parameters))
        revoked = await _get(transaction, parameters)
        await act.commit_with(transaction)
    return revoked


async def list_grants(
    database: TenantDatabase,
    scope: Scope,
    *,
    given: bool,
    received: bool,
    include_ended: bool,
    before: UUID | str | None,
    limit: int,
) -> list[Grant]:
    """Grants that the owner gave or received, newest first."""
    parameters = {
        "owner": scope.require_owner(),
        "given": check_flag("given", given),
        "received": check_flag("received", received),
        "include_ended": check_flag("include_ended", include_ended),
    }
    if not (given or received):
        raise InvalidInputError("given or received must be True: there is nothing else to list.")
    rows = await newest_first(database, "shares", parameters, before=before, limit=limit)
    return [Grant(**_with_tuples(row)) for row in rows]


async def readable_grants(transaction: Transaction, granted_to: str) -> list[ReadableGrant]:
    """The active grants to an owner, oldest first; at most ACTIVE_MAX."""
    rows = await transaction.rows("shares.readable", {"granted_to": granted_to})
    return [ReadableGrant(**_with_tuples(row)) for row in rows]


async def _add(transaction: Transaction, parameters: Mapping[str, Any]) -> Grant:
    await transaction.execute("shares.hold_reader", parameters)
    row = await transaction.first("shares.grant", parameters)
    if row is None:
        # Without the name: the audit log keeps this message, and the reader may be erased one day.
        raise ConflictError(
            f"The reader has {ACTIVE_MAX:,} active grants already: revoke some first, or grant wider scopes."
        )
    return Grant(**_with_tuples(row))


async def _get(transaction: Transaction, parameters: Mapping[str, Any]) -> Grant:
    row = await transaction.first("shares.get", parameters)
    if row is None:
        raise NotFoundError(
            f"The owner gave no grant {parameters['grant_id']}. Only its giver can revoke a grant."
        )
    return Grant(**_with_tuples(row))


def _with_tuples(row: Row) -> Row:
    lists = {field: row[field] for field in ("categories", "tags")}
    return row | {field: tuple(value) if value is not None else None for field, value in lists.items()}


def _written(what: Mapping[str, Any]) -> dict[str, Any]:
    """The scope of a grant as JSON for the audit log, without fields that are None."""
    return {
        field: value.isoformat() if isinstance(value, datetime) else value
        for field, value in what.items()
        if value is not None
    }


def _check_reader(to: object, owner: str) -> str:
    reader = check_name("to", to)
    if reader == owner:
        raise InvalidInputError("to must be another owner: every owner reads their own memories.")
    return reader


def _check_categories(value: object) -> list[str]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInputError("categories must be a list of categories, or None for all.")
    given = list(islice(value, len(CATEGORIES) + 1))
    if not 1 <= len(given) <= len(CATEGORIES):
        raise InvalidInputError(f"categories must name 1 to {len(CATEGORIES)} of them, or be None for all.")
    return sorted({check_choice("categories", category, CATEGORIES) for category in given})


def _check_some_tags(value: object) -> list[str]:
    tags = list(check_tags(value))
    if not tags:
        raise InvalidInputError("tags must name at least one, or be None for all memories.")
    return tags


def _check_expiry(value: object) -> datetime:
    expires_at = check_time("expires_at", value)
    if expires_at <= datetime.now(UTC):
        raise InvalidInputError("expires_at must lie in the future.")
    return expires_at


def _check_reason(reason: object) -> str | None:
    return check_text("reason", reason, max_characters=REASON_MAX_CHARACTERS) if reason is not None else None
