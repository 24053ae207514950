"""`memory.revenue`: revenue events, with exact decimal amounts."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from mnemic.sdk.routing import CallGroup, routed
from mnemic.tiers import revenue_events
from mnemic.tiers.events import EventWindow
from mnemic.types.tiers import RevenueEvent, RevenueTotal


class AsyncRevenue(CallGroup):
    """Money that agents earned or refunded. Events are immutable: correct one by appending another."""

    @routed("revenue.append")
    async def append(
        self,
        amount: int | str | Decimal,
        currency: str,
        *,
        source: str,
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | str | None = None,
        owner: str | None = None,
        channel: str | None = None,
    ) -> RevenueEvent:
        """Append an amount: an int, a Decimal or text such as "12.50"; a refund is negative.

        `currency` is a code of 3 letters; `source` says what the money was for, such as `advisory_fee`.
        """
        return await revenue_events.append_revenue(
            self._caller.database,
            self._caller.scoped(owner, channel),
            amount=amount,
            currency=currency,
            source=source,
            description=description,
            metadata={} if metadata is None else metadata,
            at=at,
        )

    @routed("revenue.list")
    async def list(
        self,
        *,
        currency: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
        channel: str | None = None,
    ) -> Sequence[RevenueEvent]:
        """Return events from `since` (inclusive) to `until` (exclusive), newest first.

        Without `channel` the events of all channels are returned. `before` is the `event_id` of the last
        event of the previous page.
        """
        return await revenue_events.list_revenue(
            self._caller.database,
            self._caller.scoped(owner),
            EventWindow(since, until, channel),
            currency=currency,
            before=before,
            limit=limit,
        )

    @routed("revenue.totals")
    async def totals(
        self,
        *,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        owner: str | None = None,
        channel: str | None = None,
    ) -> Sequence[RevenueTotal]:
        """Return the sum of the events for each currency."""
        return await revenue_events.revenue_totals(
            self._caller.database, self._caller.scoped(owner), EventWindow(since, until, channel)
        )
