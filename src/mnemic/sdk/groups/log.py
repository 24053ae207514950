"""`memory.log`: the log of calls that wrote and read."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from mnemic.govern import memory_log
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.traces import LoggedCall


class AsyncLog(CallGroup):
    """Calls that wrote and, if the setting `memory_log` includes them, calls that read."""

    @routed("log.list")
    async def list(
        self,
        *,
        operation: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[LoggedCall]:
        """Return calls, newest first; `before` is the `log_id` of the last call of the previous page."""
        return await memory_log.list_calls(
            self._caller.database,
            self._caller.scoped(owner),
            operation=operation,
            since=since,
            until=until,
            before=before,
            limit=limit,
        )
