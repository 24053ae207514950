"""`memory.audit`: what was destroyed or carried away, by whom, and whether it went well."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from mnemic.govern import audit
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.traces import AuditRecord


class AsyncAudit(CallGroup):
    """Acts that destroy or carry away much: an intent before each, an outcome after it.

    A memory that has an owner sees the acts of that owner; one that has none, all of its tenant.
    """

    @routed("audit.list")
    async def list(
        self,
        *,
        action: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[AuditRecord]:
        """Intents and outcomes, newest first; `before` is the last `audit_id` of the page before."""
        return await audit.list_acts(
            self._caller.database,
            self._scope.narrowed(owner=owner),
            action=action,
            since=since,
            until=until,
            before=before,
            limit=limit,
        )

    @routed("audit.unfinished")
    async def unfinished(self, *, limit: int = 100, owner: str | None = None) -> Sequence[AuditRecord]:
        """Intents that have no outcome: acts that still run, or were cut short by a crash."""
        return await audit.unfinished_acts(
            self._caller.database, self._scope.narrowed(owner=owner), limit=limit
        )
