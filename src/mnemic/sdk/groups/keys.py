"""`memory.keys`: who may call a server of this tenant."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from mnemic.govern import keys
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.key import ApiKey, NewApiKey, Role


class AsyncKeys(CallGroup):
    """API keys of the tenant, for whoever has the database or an admin key.

    A memory that has an owner makes, sees and revokes the keys of that owner; one that has none, all of its
    tenant.
    """

    @routed("keys.create")
    async def create(
        self,
        *,
        role: Role,
        name: str | None = None,
        expires_at: datetime | str | None = None,
        owner: str | None = None,
    ) -> NewApiKey:
        """Make a key; its text is in `key` of the answer, and nowhere else afterwards.

        `read` may read and recall, `write` may also change, `admin` may also manage the tenant. A key with an
        owner works for that owner alone and is not `admin`. The audit log tells of it.
        """
        return await keys.create(
            self._caller.database,
            self._scope.narrowed(owner=owner),
            role=role,
            name=name,
            expires_at=expires_at,
        )

    @routed("keys.get")
    async def get(self, key_id: UUID | str, *, owner: str | None = None) -> ApiKey:
        """One key, without its text; NotFoundError if there is none."""
        return await keys.get(self._caller.database, self._scope.narrowed(owner=owner), key_id)

    @routed("keys.list")
    async def list(
        self,
        *,
        include_ended: bool = False,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[ApiKey]:
        """Keys, newest first; `include_ended` adds those that were revoked or have expired.

        `before` is the `key_id` of the last one on the page before.
        """
        return await keys.list_keys(
            self._caller.database,
            self._scope.narrowed(owner=owner),
            include_ended=include_ended,
            before=before,
            limit=limit,
        )

    @routed("keys.revoke")
    async def revoke(self, key_id: UUID | str, *, owner: str | None = None) -> ApiKey:
        """End a key with the next request that carries it. Revoking it again changes nothing.

        The audit log tells of it.
        """
        return await keys.revoke(self._caller.database, self._scope.narrowed(owner=owner), key_id)
