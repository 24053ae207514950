"""`memory.errors`: what went wrong."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.sdk.routing import CallGroup, routed
from mnemic.tiers import error_events
from mnemic.tiers.events import Window
from mnemic.types.tiers import ErrorEvent, Severity


class AsyncErrors(CallGroup):
    """What went wrong in the systems that use this memory. Never changed afterwards."""

    @routed("errors.record")
    async def record(
        self,
        kind: str,
        message: str,
        *,
        detail: Mapping[str, Any] | None = None,
        severity: Severity = "medium",
        at: datetime | str | None = None,
        owner: str | None = None,
        channel: str | None = None,
    ) -> ErrorEvent:
        """Add an error; `kind` is a short word to find it by, `severity` low, medium, high or critical."""
        return await error_events.record_error(
            self._caller.database,
            self._caller.scoped(owner, channel),
            kind=kind,
            message=message,
            detail={} if detail is None else detail,
            severity=severity,
            at=at,
        )

    @routed("errors.list")
    async def list(
        self,
        *,
        kind: str | None = None,
        severity: Severity | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
        channel: str | None = None,
    ) -> Sequence[ErrorEvent]:
        """Errors from `since` on and before `until`, newest first, of all channels unless one is named.

        `before` is the `event_id` of the last error on the page before.
        """
        return await error_events.list_errors(
            self._caller.database,
            self._caller.scoped(owner),
            Window(since, until, channel),
            kind=kind,
            severity=severity,
            before=before,
            limit=limit,
        )
