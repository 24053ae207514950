"""Grants between owners: without one, no owner reads the memories of another.

A grant to an owner is *offered* by its giver and becomes *active* when the reader accepts it, or at once
where the tenant's policy is `accept_all`. A grant to a group is given by an administrator and is active at
once for all members. An open grant ends when it *expires*, if it has an expiry, is *revoked* by its giver or
*dropped* by its reader; a member of a group drops the group's grant for itself only. The next statement of
every other transaction sees that. All ends are final: the grant stays as history, and access needs a new
grant. Recall reads the active ones by `readable_grants`, in its own transaction; it never sees an offer.

Limits keep a giver from harming others. Offers do not count against the active grants of their reader. A
giver has few open grants to one reader, and the first offer of a giver to a reader is always possible,
however many offers others have made.

Every change is audited, by the id of the grant. The audit log does not name the other owner, so that erasing
that owner leaves no trace there; erasing an owner erases the grants that it gave and received.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any, cast
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.pagination import newest_first
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.govern.audit import audited, without_owner
from mnemic.govern.groups import hold_group
from mnemic.types.checks import check_choice, check_flag, check_id, check_text, check_time
from mnemic.types.identity import new_id
from mnemic.types.memory import CATEGORIES
from mnemic.types.scope import Scope, check_name
from mnemic.types.share import (
    GRANT_POLICIES,
    GRANT_STATES,
    OPEN_STATES,
    Grant,
    GrantPolicy,
    GrantState,
    ReadableGrant,
)
from mnemic.types.tags import check_tags

REASON_MAX_CHARACTERS = 1024
# Every recall reads all active grants of its owner, so their number is limited. Offers do not count.
ACTIVE_MAX = 1000
# Offered and active grants of one giver: to all readers together, and to one reader.
GIVEN_MAX = 1000
PAIR_MAX = 20
# Open offers to one reader. Beyond it each giver can still have one, so that no giver blocks another.
OFFERS_MAX = 200
# Active grants to one group. Every recall of a member reads them.
GROUP_ACTIVE_MAX = 100


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
    """Offer another owner to recall memories; ConflictError above a limit of the giver or of open offers."""
    owner = scope.require_owner()
    what = _check_what(channel, categories, tags, conversation, expires_at)
    parameters = {
        **_new_grant(scope, what, reason),
        "granted_to": _check_reader(to, owner),
        "granted_to_group": None,
    }
    target = str(parameters["grant_id"])
    async with (
        audited(database, scope, action="grant_share", target=target, detail=_written(what)) as act,
        database.transaction() as transaction,
    ):
        await transaction.execute("shares.hold_giver", parameters)
        await transaction.execute("shares.hold_reader", parameters)
        is_accepted = _check_limits(await transaction.one("shares.counts", parameters))
        granted = await _add(transaction, parameters, is_accepted=is_accepted)
        act.outcome(state=granted.state)
        await act.commit_with(transaction)
    return granted


async def grant_to_group(
    database: TenantDatabase,
    scope: Scope,
    group: str,
    *,
    channel: str | None,
    categories: Iterable[str] | None,
    tags: Iterable[str] | None,
    conversation: str | None,
    expires_at: datetime | str | None,
    reason: str | None,
) -> Grant:
    """Let the members of a group recall memories, at once; NotFoundError if there is no such group."""
    what = _check_what(channel, categories, tags, conversation, expires_at)
    name = check_name("group", group)
    parameters = {
        **_new_grant(scope, what, reason),
        "granted_to": None,
        "granted_to_group": name,
    }
    target, detail = str(parameters["grant_id"]), {"group": name, **_written(what)}
    async with (
        audited(database, scope, action="grant_share", target=target, detail=detail) as act,
        database.transaction() as transaction,
    ):
        await hold_group(transaction, name)
        counted = await transaction.one("shares.group_count", parameters)
        if counted["active_count"] >= GROUP_ACTIVE_MAX:
            raise ConflictError(
                f"The group has {GROUP_ACTIVE_MAX:,} active grants: revoke some first, or grant wider scopes."
            )
        granted = await _add(transaction, parameters, is_accepted=True)
        act.outcome(state=granted.state)
        await act.commit_with(transaction)
    return granted


async def accept(database: TenantDatabase, scope: Scope, grant_id: UUID | str) -> Grant:
    """Accept an offer to the owner. An active grant stays as it is, and is not audited again.

    ConflictError if the grant has ended, or if the owner has ACTIVE_MAX active grants already.
    """
    parameters = _received(scope, grant_id) | {"granted_to": scope.require_owner(), "active_max": ACTIVE_MAX}
    async with database.transaction() as transaction:
        offered = await _get_received(transaction, parameters)
    if offered.state == "active":
        return offered
    _check_not_ended(offered)
    async with (
        audited(database, scope, action="accept_share", target=str(offered.grant_id)) as act,
        database.transaction() as transaction,
    ):
        await transaction.execute("shares.hold_reader", parameters)
        # 0 if another call accepted or ended it in the meantime, or at the limit.
        accepted_count = await transaction.execute("shares.accept", parameters)
        accepted = await _get_received(transaction, parameters)
        _check_not_ended(accepted)
        if accepted.state == "offered":
            raise ConflictError(f"You have {ACTIVE_MAX:,} active grants already: drop some of them first.")
        act.outcome(accepted_count=accepted_count)
        await act.commit_with(transaction)
    return accepted


async def drop(database: TenantDatabase, scope: Scope, grant_id: UUID | str) -> Grant:
    """End a grant to the owner, or to its group for the owner alone; one that was ended stays as it is."""
    parameters = _received(scope, grant_id)
    async with database.transaction() as transaction:
        received = await _get_received(transaction, parameters)
    if received.state in ("dropped", "revoked"):
        return received
    query = "shares.drop" if received.granted_to_group is None else "shares.drop_group_grant"
    async with (
        audited(database, scope, action="drop_share", target=str(received.grant_id)) as act,
        database.transaction() as transaction,
    ):
        # 0 if another call ended it in the meantime.
        act.outcome(dropped_count=await transaction.execute(query, parameters))
        dropped = await _get_received(transaction, parameters)
        await act.commit_with(transaction)
    return dropped


async def revoke(
    database: TenantDatabase, scope: Scope, grant_id: UUID | str, *, reason: str | None
) -> Grant:
    """Revoke a grant that the owner gave. One that was revoked or dropped stays as it is."""
    parameters = {
        "owner": scope.require_owner(),
        "grant_id": check_id("grant_id", grant_id),
        "reason": _check_reason(reason),
    }
    async with database.transaction() as transaction:
        given = await _get(transaction, parameters)
    if given.state in ("dropped", "revoked"):
        return given
    target = str(given.grant_id)
    async with (
        audited(database, scope, action="revoke_share", target=target) as act,
        database.transaction() as transaction,
    ):
        # 0 if another call ended it in the meantime.
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
    state: str | None,
    before: UUID | str | None,
    limit: int,
) -> list[Grant]:
    """Grants that the owner gave or received, also as a member of a group, newest first."""
    parameters = {
        "owner": scope.require_owner(),
        "given": check_flag("given", given),
        "received": check_flag("received", received),
        "states": _listed_states(state, include_ended=check_flag("include_ended", include_ended)),
    }
    if not (given or received):
        raise InvalidInputError("given or received must be True: there is nothing else to list.")
    rows = await newest_first(database, "shares", parameters, before=before, limit=limit)
    return [Grant(**_with_tuples(row)) for row in rows]


async def read_policy(database: TenantDatabase) -> GrantPolicy:
    """Whether readers of this tenant accept grants themselves, or every grant takes effect at once."""
    async with database.transaction() as transaction:
        return cast(GrantPolicy, (await transaction.one("shares.policy"))["grant_policy"])


async def set_policy(database: TenantDatabase, scope: Scope, policy: str) -> GrantPolicy:
    """Set the policy for grants from now on; grants and offers that exist stay as they are."""
    checked = check_choice("policy", policy, GRANT_POLICIES)
    async with (
        audited(database, without_owner(scope), action="set_grant_policy", target=checked) as act,
        database.transaction() as transaction,
    ):
        await transaction.execute("shares.set_policy", {"policy": checked})
        await act.commit_with(transaction)
    return cast(GrantPolicy, checked)


async def readable_grants(transaction: Transaction, granted_to: str) -> list[ReadableGrant]:
    """The active grants to an owner and to its groups: the first of each giver, then the second ones, …"""
    rows = await transaction.rows("shares.readable", {"granted_to": granted_to})
    return [ReadableGrant(**_with_tuples(row)) for row in rows]


def _new_grant(scope: Scope, what: Mapping[str, Any], reason: object) -> dict[str, Any]:
    """The parameters that grants to owners and to groups have in common."""
    return {
        **what,
        "grant_id": new_id(),
        "owner": scope.require_owner(),
        "process": scope.process,
        "reason": _check_reason(reason),
    }


def _check_limits(counts: Row) -> bool:
    """Whether the new grant is accepted at once; ConflictError if it would be above a limit.

    The messages name nobody: the audit log keeps them, and the reader may be erased one day.
    """
    advice = "revoke some first, or grant wider scopes."
    if counts["of_pair"] >= PAIR_MAX:
        raise ConflictError(f"The owner has {PAIR_MAX:,} open grants to this reader: {advice}")
    if counts["of_giver"] >= GIVEN_MAX:
        raise ConflictError(f"The owner has given {GIVEN_MAX:,} open grants: {advice}")
    if counts["grant_policy"] == "accept_all" and counts["active_of_reader"] < ACTIVE_MAX:
        return True
    if counts["offers_to_reader"] >= OFFERS_MAX and counts["offers_of_pair"]:
        raise ConflictError(
            f"The reader has {OFFERS_MAX:,} open offers, one of this owner among them: "
            "wait until the reader has accepted or dropped it."
        )
    return False


async def _add(transaction: Transaction, parameters: Mapping[str, Any], *, is_accepted: bool) -> Grant:
    await transaction.execute("shares.grant", {**parameters, "is_accepted": is_accepted})
    return await _get(transaction, parameters)


async def _get(transaction: Transaction, parameters: Mapping[str, Any]) -> Grant:
    row = await transaction.first("shares.get", parameters)
    if row is None:
        raise NotFoundError(
            f"The owner gave no grant {parameters['grant_id']}. Only its giver can revoke a grant."
        )
    return Grant(**_with_tuples(row))


def _received(scope: Scope, grant_id: object) -> dict[str, Any]:
    return {"owner": scope.require_owner(), "grant_id": check_id("grant_id", grant_id)}


async def _get_received(transaction: Transaction, parameters: Mapping[str, Any]) -> Grant:
    row = await transaction.first("shares.get_received", parameters)
    if row is None:
        raise NotFoundError(
            f"The owner received no grant {parameters['grant_id']}. "
            "Only its reader can accept or drop a grant."
        )
    return Grant(**_with_tuples(row))


def _check_not_ended(received: Grant) -> None:
    if received.state not in OPEN_STATES:
        raise ConflictError(f"This grant is {received.state}, for good: the giver can make a new one.")


def _listed_states(state: object, *, include_ended: bool) -> list[GrantState]:
    if state is not None:
        return [cast(GrantState, check_choice("state", state, GRANT_STATES))]
    return list(GRANT_STATES if include_ended else OPEN_STATES)


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


def _check_what(
    channel: object, categories: object, tags: object, conversation: object, expires_at: object
) -> dict[str, Any]:
    """The scope of a grant; a part that is None does not restrict."""
    return {
        "channel": check_name("channel", channel) if channel is not None else None,
        "categories": _check_categories(categories) if categories is not None else None,
        "tags": _check_some_tags(tags) if tags is not None else None,
        "conversation": check_name("conversation", conversation) if conversation is not None else None,
        "expires_at": _check_expiry(expires_at) if expires_at is not None else None,
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
