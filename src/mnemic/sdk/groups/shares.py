"""`memory.shares`: grants that let other owners recall an owner's memories."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from mnemic.govern import shares
from mnemic.govern.groups import require_tenant
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.memory import Category
from mnemic.types.share import Grant, GrantPolicy, GrantState


class AsyncShares(CallGroup):
    """Grants by which one owner lets another recall memories. Without one, no owner sees another's.

    A grant is offered by its giver and takes effect when its reader accepts it. Both can end it at once.
    """

    @routed("shares.grant")
    async def grant(
        self,
        to: str,
        *,
        channel: str | None = None,
        categories: Sequence[Category] | None = None,
        tags: Sequence[str] | None = None,
        conversation: str | None = None,
        expires_at: datetime | str | None = None,
        reason: str | None = None,
        owner: str | None = None,
    ) -> Grant:
        """Offer the owner `to` to recall this owner's memories, until `expires_at` or until it is ended.

        The grant takes effect when `to` accepts it, or at once if the tenant's policy is `accept_all`; its
        `state` says which. It covers memories that match all given conditions: this channel and conversation,
        one of the categories, at least one of the tags. Granting the same again creates a second grant, which
        is ended separately. ConflictError if the giver has too many open grants. The grant is recorded in the
        audit log.
        """
        return await shares.grant(
            self._caller.database,
            self._caller.scoped(owner),
            to,
            channel=channel,
            categories=categories,
            tags=tags,
            conversation=conversation,
            expires_at=expires_at,
            reason=reason,
        )

    @routed("shares.accept")
    async def accept(self, grant_id: UUID | str, *, owner: str | None = None) -> Grant:
        """Accept a grant that was offered to this owner; from now on recall finds the shared memories.

        Accepting it again does nothing. ConflictError if the grant has ended, or if the owner has too many
        active grants. NotFoundError for a grant to somebody else. The acceptance is recorded in the audit
        log.
        """
        return await shares.accept(self._caller.database, self._caller.scoped(owner), grant_id)

    @routed("shares.drop")
    async def drop(self, grant_id: UUID | str, *, owner: str | None = None) -> Grant:
        """End a grant to this owner at once, offered or active; it is kept as history.

        It cannot be accepted again. A grant to a group ends for this owner only. Dropping a grant that was
        dropped or revoked does nothing. NotFoundError for a grant to somebody else. It is recorded in the
        audit log.
        """
        return await shares.drop(self._caller.database, self._caller.scoped(owner), grant_id)

    @routed("shares.revoke")
    async def revoke(
        self, grant_id: UUID | str, *, reason: str | None = None, owner: str | None = None
    ) -> Grant:
        """Revoke a grant at once, offered or active; it is kept as history. Revoking it again does nothing.

        Only the owner who gave a grant can revoke it; others get NotFoundError. The revocation is recorded in
        the audit log.
        """
        return await shares.revoke(self._caller.database, self._caller.scoped(owner), grant_id, reason=reason)

    @routed("shares.list")
    async def list(
        self,
        *,
        given: bool = True,
        received: bool = False,
        include_ended: bool = False,
        state: GrantState | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[Grant]:
        """Return grants that the owner gave, received, or both, newest first; also those to its groups.

        By default these are offered and active ones; `include_ended` adds expired, dropped and revoked ones.
        `state` selects those in one state, such as the offers that wait for this owner. `before` is the
        `grant_id` of the last grant of the previous page.
        """
        return await shares.list_grants(
            self._caller.database,
            self._caller.scoped(owner),
            given=given,
            received=received,
            include_ended=include_ended,
            state=state,
            before=before,
            limit=limit,
        )

    @routed("shares.policy")
    async def policy(self) -> GrantPolicy:
        """Return the policy of the tenant: `ask`, or `accept_all` if grants take effect at once."""
        return await shares.read_policy(self._caller.database)

    @routed("shares.set_policy")
    async def set_policy(self, policy: GrantPolicy) -> GrantPolicy:
        """Set the policy of the tenant; for administrators, on a memory without an owner.

        `ask`, the default, lets each reader accept or drop what others offer. `accept_all` lets every grant
        take effect at once; readers can still drop it. Grants and offers that exist stay as they are. The
        change is recorded in the audit log.
        """
        return await shares.set_policy(self._caller.database, require_tenant(self._scope), policy)
