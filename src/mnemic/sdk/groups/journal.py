"""`memory.journal`: journal entries of an agent."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.sdk.routing import CallGroup, routed
from mnemic.tiers import journal_events
from mnemic.tiers.events import EventWindow
from mnemic.types.tiers import JournalEvent


class AsyncJournal(CallGroup):
    """What an agent evaluated, did and plans to do next, cycle by cycle. Entries are immutable."""

    @routed("journal.append")
    async def append(
        self,
        *,
        evaluated: Any = None,
        acted: Any = None,
        forward: Any = None,
        extra: Mapping[str, Any] | None = None,
        at: datetime | str | None = None,
        owner: str | None = None,
        channel: str | None = None,
    ) -> JournalEvent:
        """Append an entry of text or JSON with at least one of `evaluated`, `acted` and `forward`.

        `at` is the time of the entry, with a time zone; the default is now.
        """
        return await journal_events.append_entry(
            self._caller.database,
            self._caller.scoped(owner, channel),
            evaluated=evaluated,
            acted=acted,
            forward=forward,
            extra={} if extra is None else extra,
            at=at,
        )

    @routed("journal.list")
    async def list(
        self,
        *,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
        channel: str | None = None,
    ) -> Sequence[JournalEvent]:
        """Return entries from `since` (inclusive) to `until` (exclusive), newest first.

        Without `channel` the entries of all channels are returned. `before` is the `event_id` of the last
        entry of the previous page.
        """
        return await journal_events.list_entries(
            self._caller.database,
            self._caller.scoped(owner),
            EventWindow(since, until, channel),
            before=before,
            limit=limit,
        )
