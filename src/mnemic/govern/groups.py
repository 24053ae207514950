"""Groups of owners, for grants to many readers at once. Only administrators manage them.

A group is a name and its members. The group `everyone` always exists and has all owners of the tenant as
members; it cannot be created, changed or deleted. A change takes effect with the next statement of every
other transaction. Deleting a group revokes the grants to it, for good: a later group of the same name starts
without grants.

A view of a memory for one owner cannot become one for the whole tenant, so calls for administrators refuse a
scope that has an owner (`require_tenant`).

Every change is audited. Adding and removing a member belongs to that member in the audit log, so that erasing
the member erases it there, too.
"""

from typing import Any

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from mnemic.govern.audit import audited
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope, check_name
from mnemic.types.share import EVERYONE, Group

# Groups of one tenant.
GROUPS_MAX = 1000
# Members of one group; larger audiences are `everyone`.
MEMBERS_MAX = 10_000
# Groups of one owner. Every recall reads the grants to all of them.
GROUPS_PER_OWNER_MAX = 32


def require_tenant(scope: Scope) -> Scope:
    """The scope, which must be that of the whole tenant; ForbiddenError if it has an owner."""
    if scope.owner is not None:
        raise ForbiddenError("This call concerns all owners: use a memory without an owner.")
    return scope


async def create(database: TenantDatabase, scope: Scope, group: str) -> Group:
    """Create a group without members; ConflictError if there is one of this name."""
    name = _check_group(group)
    async with (
        audited(database, scope, action="create_group", target=name) as act,
        database.transaction() as transaction,
    ):
        await transaction.execute("groups.hold_all")
        if await transaction.first("groups.create", {"group": name, "groups_max": GROUPS_MAX}) is None:
            await _explain_refusal(transaction, name)
        created = await _get(transaction, name)
        await act.commit_with(transaction)
    return created


async def delete(database: TenantDatabase, scope: Scope, group: str) -> None:
    """Delete a group and revoke the grants to it; NotFoundError if there is none of this name."""
    parameters = {"group": _check_group(group)}
    async with (
        audited(database, scope, action="delete_group", target=parameters["group"]) as act,
        database.transaction() as transaction,
    ):
        await hold_group(transaction, parameters["group"])
        act.outcome(revoked_count=await transaction.execute("shares.revoke_group", parameters))
        await transaction.execute("groups.delete", parameters)
        await act.commit_with(transaction)


async def add(database: TenantDatabase, scope: Scope, group: str, member: str) -> bool:
    """Add an owner to a group; False if it is a member already."""
    parameters = _membership(group, member)
    act_scope = scope.narrowed(owner=parameters["member"])
    async with (
        audited(database, act_scope, action="add_group_member", target=parameters["group"]) as act,
        database.transaction() as transaction,
    ):
        await hold_group(transaction, parameters["group"])
        await transaction.execute("groups.hold_member", parameters)
        counts = await transaction.one("groups.counts", parameters)
        if is_new := not counts["is_member"]:
            _check_limits(counts["member_count"], counts["group_count"])
            await transaction.execute("groups.add", parameters)
        act.outcome(added_count=int(is_new))
        await act.commit_with(transaction)
    return is_new


async def remove(database: TenantDatabase, scope: Scope, group: str, member: str) -> bool:
    """Remove an owner from a group; False if it is no member."""
    parameters = _membership(group, member)
    act_scope = scope.narrowed(owner=parameters["member"])
    async with (
        audited(database, act_scope, action="remove_group_member", target=parameters["group"]) as act,
        database.transaction() as transaction,
    ):
        await hold_group(transaction, parameters["group"])
        removed_count = await transaction.execute("groups.remove", parameters)
        act.outcome(removed_count=removed_count)
        await act.commit_with(transaction)
    return removed_count > 0


async def list_groups(database: TenantDatabase, *, after: str, limit: int) -> list[Group]:
    """Groups by name, without `everyone`."""
    async with database.transaction() as transaction:
        return [Group(**row) for row in await transaction.rows("groups.list", _page(after, limit))]


async def list_members(database: TenantDatabase, group: str, *, after: str, limit: int) -> list[str]:
    """The members of a group by name; NotFoundError if there is no such group."""
    name = _check_group(group)
    async with database.transaction() as transaction:
        await _get(transaction, name)
        rows = await transaction.rows("groups.members", {"group": name, **_page(after, limit)})
    return [row["owner"] for row in rows]


async def hold_group(transaction: Transaction, group: str) -> None:
    """Lock a group until the transaction ends; NotFoundError if there is none of this name."""
    await transaction.execute("groups.hold", {"group": group})
    if group != EVERYONE:
        await _get(transaction, group)


async def _get(transaction: Transaction, group: str) -> Group:
    row = await transaction.first("groups.get", {"group": group})
    if row is None:
        raise NotFoundError(f"There is no group {group!r}. `mnemic groups list` shows those that exist.")
    return Group(**row)


async def _explain_refusal(transaction: Transaction, group: str) -> None:
    if await transaction.first("groups.get", {"group": group}) is not None:
        raise ConflictError(f"There is a group {group!r} already.")
    raise ConflictError(f"The tenant has {GROUPS_MAX:,} groups already: delete some first.")


def _check_limits(member_count: int, group_count: int) -> None:
    if member_count >= MEMBERS_MAX:
        raise ConflictError(f"The group has {MEMBERS_MAX:,} members already: use the group {EVERYONE!r}.")
    if group_count >= GROUPS_PER_OWNER_MAX:
        raise ConflictError(
            f"The owner is in {GROUPS_PER_OWNER_MAX:,} groups already: remove it from some first."
        )


def _membership(group: str, member: str) -> dict[str, str]:
    return {"group": _check_group(group), "member": check_name("member", member)}


def _check_group(group: object) -> str:
    """The name of a group that has a list of members."""
    name = check_name("group", group)
    if name == EVERYONE:
        raise InvalidInputError(f"The group {EVERYONE!r} always exists, and all owners are its members.")
    return name


def _page(after: str, limit: int) -> dict[str, Any]:
    return {"after": check_name("after", after) if after != "" else "", "limit": check_limit(limit)}
