"""`memory.groups`: groups of owners, and grants to all members of a group."""

from collections.abc import Sequence
from datetime import datetime

from mnemic.govern import groups, shares
from mnemic.govern.groups import require_tenant
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.memory import Category
from mnemic.types.share import Grant, Group


class AsyncGroups(CallGroup):
    """Groups of owners, for sharing memories with many readers. Only administrators manage them.

    Over HTTP they need an admin key; in Python, a memory without an owner, else ForbiddenError. The group
    `everyone` always exists: all owners of the tenant are its members. Changes take effect at once and are
    recorded in the audit log.
    """

    @routed("groups.create")
    async def create(self, group: str) -> Group:
        """Create a group without members; ConflictError if there is one of this name."""
        return await groups.create(self._caller.database, require_tenant(self._scope), group)

    @routed("groups.delete")
    async def delete(self, group: str) -> None:
        """Delete a group and revoke the grants to it; NotFoundError if there is none of this name.

        A later group of the same name does not get the grants back.
        """
        await groups.delete(self._caller.database, require_tenant(self._scope), group)

    @routed("groups.add")
    async def add(self, group: str, member: str) -> bool:
        """Add an owner to a group; False if it is a member already."""
        return await groups.add(self._caller.database, require_tenant(self._scope), group, member)

    @routed("groups.remove")
    async def remove(self, group: str, member: str) -> bool:
        """Remove an owner from a group; False if it is no member."""
        return await groups.remove(self._caller.database, require_tenant(self._scope), group, member)

    @routed("groups.list")
    async def list(self, *, after: str = "", limit: int = 100) -> Sequence[Group]:
        """Return groups by name, without `everyone`; `after` is the last name of the previous page."""
        require_tenant(self._scope)
        return await groups.list_groups(self._caller.database, after=after, limit=limit)

    @routed("groups.members")
    async def members(self, group: str, *, after: str = "", limit: int = 100) -> Sequence[str]:
        """Return the members of a group by name; `after` is the last name of the previous page."""
        require_tenant(self._scope)
        return await groups.list_members(self._caller.database, group, after=after, limit=limit)

    @routed("groups.grant")
    async def grant(
        self,
        group: str,
        *,
        owner: str,
        channel: str | None = None,
        categories: Sequence[Category] | None = None,
        tags: Sequence[str] | None = None,
        conversation: str | None = None,
        expires_at: datetime | str | None = None,
        reason: str | None = None,
    ) -> Grant:
        """Let all members of a group recall the memories of `owner`, now and without their acceptance.

        The conditions are those of `shares.grant`. Owners who become members later get access, too, and those
        who leave lose it. Each member can drop the grant for itself by `shares.drop`; `shares.revoke` of
        `owner` ends it for all.
        """
        scope = require_tenant(self._scope).narrowed(owner=owner)
        return await shares.grant_to_group(
            self._caller.database,
            scope,
            group,
            channel=channel,
            categories=categories,
            tags=tags,
            conversation=conversation,
            expires_at=expires_at,
            reason=reason,
        )
