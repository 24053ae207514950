"""`memory.audit`: the audit log."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from mnemic.govern import audit
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.traces import ActOutcome, AuditedOperation, AuditRecord


class AsyncAudit(CallGroup):
    """Operations that destroy, export or share data: a record of the intent before, one of the outcome after.

    A memory with an owner sees the records of that owner; a memory without one sees all records of its
    tenant.
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
        """Return intents and outcomes, newest first; `before` is the last `audit_id` of the previous page."""
        return await audit.list_acts(
            self._caller.database,
            self._scope.narrowed(owner=owner),
            action=action,
            since=since,
            until=until,
            before=before,
            limit=limit,
        )

    @routed("audit.operations")
    async def operations(
        self,
        *,
        action: str | None = None,
        outcome: ActOutcome | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[AuditedOperation]:
        """Return operations with their outcomes, newest first; `before` is the last `audit_id` of a page.

        With `outcome` "succeeded" or "failed" they are ordered and filtered by when they ended, otherwise by
        when they began.
        """
        return await audit.list_operations(
            self._caller.database,
            self._scope.narrowed(owner=owner),
            action=action,
            outcome=outcome,
            since=since,
            until=until,
            before=before,
            limit=limit,
        )

    @routed("audit.unfinished")
    async def unfinished(self, *, limit: int = 100, owner: str | None = None) -> Sequence[AuditRecord]:
        """Return intents without an outcome: operations that still run, or that a crash interrupted."""
        return await audit.unfinished_acts(
            self._caller.database, self._scope.narrowed(owner=owner), limit=limit
        )
