"""`memory.shares`: grants that let other owners recall an owner's memories."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from mnemic.govern import shares
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.memory import Category
from mnemic.types.share import Grant


class AsyncShares(CallGroup):
    """Grants by which one owner lets another recall memories. Without one, no owner sees another's."""

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
        """Let the owner `to` recall this owner's memories, until `expires_at` or until it is revoked.

        The grant covers memories that match all given conditions: this channel and conversation, one of the
        categories, at least one of the tags. Granting the same again creates a second grant, which is revoked
        separately. The grant is recorded in the audit log.
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

    @routed("shares.revoke")
    async def revoke(
        self, grant_id: UUID | str, *, reason: str | None = None, owner: str | None = None
    ) -> Grant:
        """Revoke a grant at once; it is kept as history. Revoking it again does nothing.

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
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[Grant]:
        """Return grants that the owner gave, received, or both, newest first.

        `include_ended` adds revoked and expired ones; `before` is the `grant_id` of the last grant of the
        previous page.
        """
        return await shares.list_grants(
            self._caller.database,
            self._caller.scoped(owner),
            given=given,
            received=received,
            include_ended=include_ended,
            before=before,
            limit=limit,
        )
