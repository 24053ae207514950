"""`memory.shares`: who else may recall an owner's memories."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from mnemic.govern import shares
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.memory import Category
from mnemic.types.share import Grant


class AsyncShares(CallGroup):
    """Grants, by which one owner lets another recall memories. Without one, nobody reads another's."""

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

        Only memories that fit all that is given: of this channel and conversation, of one of the
        categories, with at least one of the tags. What is not given is not narrowed. Granting the same
        again makes a second grant, to be revoked on its own. The audit log tells of it.
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
        """End a grant at once; it stays as history. Revoking it again changes nothing.

        Only whoever gave a grant can revoke it: NotFoundError for everybody else. The audit log tells of it.
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
        """Grants that the owner gave, received, or both, newest first.

        `include_ended` adds those that were revoked or have expired; `before` is the `grant_id` of the
        last one on the page before.
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
