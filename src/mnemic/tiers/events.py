"""Append-only events: recorded once and never changed.

Journal, revenue, errors and metrics have common fields: owner, channel, process, when it happened (`at`)
and when it was stored (`recorded_at`). Each kind has a module that checks its other fields and leaves the
common ones to its `EventKind`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from mnemic.db.database import TenantDatabase
from mnemic.db.pagination import newest_first
from mnemic.types.checks import check_time, check_window
from mnemic.types.scope import Scope, check_name
from mnemic.types.tiers import TierEvent

AnyEvent = TypeVar("AnyEvent", bound=TierEvent)

Time = datetime | str


@dataclass(frozen=True)
class EventWindow:
    """A filter for events: from `since` on, before `until`, of one channel or of all."""

    since: Time | None = None
    until: Time | None = None
    channel: str | None = None

    def parameters(self, scope: Scope) -> dict[str, Any]:
        """Checked parameters of the queries."""
        return {
            "owner": scope.require_owner(),
            "channel": check_name("channel", self.channel) if self.channel is not None else None,
            **check_window(self.since, self.until),
        }


@dataclass(frozen=True)
class EventKind(Generic[AnyEvent]):
    """One kind of event: its query file, and the class of its rows."""

    queries: str
    value: type[AnyEvent]

    async def append(
        self, database: TenantDatabase, scope: Scope, fields: Mapping[str, object], *, at: Time | None
    ) -> AnyEvent:
        """Add an event with its checked fields; it happened now unless `at` is given."""
        parameters = {
            "tenant_id": database.tenant.id,
            "owner": scope.require_owner(),
            "channel": scope.channel,
            "process": scope.process,
            "at": check_time("at", at) if at is not None else None,
            **fields,
        }
        async with database.transaction() as transaction:
            return self.value(**await transaction.one(f"{self.queries}.append", parameters))

    async def page(
        self,
        database: TenantDatabase,
        scope: Scope,
        window: EventWindow,
        *,
        before: UUID | str | None,
        limit: int,
        filters: Mapping[str, object] | None = None,
    ) -> list[AnyEvent]:
        """Events in a window, newest first, starting after the event `before`."""
        parameters = {**window.parameters(scope), **(filters or {})}
        rows = await newest_first(database, self.queries, parameters, before=before, limit=limit)
        return [self.value(**row) for row in rows]
