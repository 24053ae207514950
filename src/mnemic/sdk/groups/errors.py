"""`memory.errors`: error events."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.sdk.routing import CallGroup, routed
from mnemic.tiers import error_events
from mnemic.tiers.events import EventWindow
from mnemic.types.tiers import ErrorEvent, Severity


class AsyncErrors(CallGroup):
    """Errors of the systems that use this memory. Records are immutable."""

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
        """Record an error; `kind` is a name to filter by, `severity` is low, medium, high or critical."""
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
        """Return errors from `since` (inclusive) to `until` (exclusive), newest first.

        Without `channel` the errors of all channels are returned. `before` is the `event_id` of the last
        error of the previous page.
        """
        return await error_events.list_errors(
            self._caller.database,
            self._caller.scoped(owner),
            EventWindow(since, until, channel),
            kind=kind,
            severity=severity,
            before=before,
            limit=limit,
        )
