"""`memory.keys`: API keys for a Mnemic server."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from mnemic.govern import keys
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.key import ApiKey, NewApiKey, Role


class AsyncKeys(CallGroup):
    """API keys of the tenant. Managing them needs access to the database, or an admin key.

    A memory with an owner creates, lists and revokes the keys of that owner; a memory without one, all keys
    of its tenant.
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
        """Create a key. The result holds its text in `key`; it is not stored and cannot be read again.

        `read` allows reading and recall, `write` also changes, `admin` also the management of the tenant. A
        key with an owner works only for that owner and cannot be `admin`. The creation is recorded in the
        audit log.
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
        """Return one key, without its text; NotFoundError if there is none."""
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
        """Return keys, newest first; `include_ended` adds revoked and expired ones.

        `before` is the `key_id` of the last key of the previous page.
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
        """Revoke a key; the next request that uses it fails. Revoking it again does nothing.

        The revocation is recorded in the audit log.
        """
        return await keys.revoke(self._caller.database, self._scope.narrowed(owner=owner), key_id)
