"""`memory.metrics`: measured values and their summaries, and the state of the tenant."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from mnemic.maintenance.attention import read_attention
from mnemic.maintenance.overview import read_overview, read_snapshots
from mnemic.maintenance.series import read_growth, read_series
from mnemic.sdk.routing import CallGroup, routed
from mnemic.tiers import metrics_events
from mnemic.tiers.events import EventWindow
from mnemic.types.attention import Concern
from mnemic.types.checks import check_flag
from mnemic.types.overview import Overview, Snapshot
from mnemic.types.series import GrowthDay, Series
from mnemic.types.tiers import MetricEvent, MetricKind, MetricSummary


class AsyncMetrics(CallGroup):
    """Measured values: latencies, counts, sizes. Values are immutable and read as summaries.

    `record` and `summary` are for your own values; the other calls describe the tenant.
    """

    @routed("metrics.record")
    async def record(
        self,
        kind: MetricKind,
        name: str,
        value: float,
        *,
        unit: str = "ms",
        metadata: Mapping[str, Any] | None = None,
        at: datetime | str | None = None,
        owner: str | None = None,
        channel: str | None = None,
    ) -> MetricEvent:
        """Record a value; `kind` is recall, retain, query, mutation or inference."""
        return await metrics_events.record_metric(
            self._caller.database,
            self._caller.scoped(owner, channel),
            kind=kind,
            name=name,
            value=value,
            unit=unit,
            metadata={} if metadata is None else metadata,
            at=at,
        )

    @routed("metrics.summary")
    async def summary(
        self,
        *,
        kind: MetricKind | None = None,
        name: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int = 100,
        owner: str | None = None,
        channel: str | None = None,
    ) -> Sequence[MetricSummary]:
        """Return count, mean, p50, p95 and p99 for each kind, name and unit, by descending count.

        Without `since` the summary covers the 24 hours before `until`, which is now by default.
        """
        return await metrics_events.summarise_metrics(
            self._caller.database,
            self._caller.scoped(owner),
            EventWindow(since, until, channel),
            kind=kind,
            name=name,
            limit=limit,
        )

    @routed("metrics.overview")
    async def overview(self) -> Overview:
        """Return the state of the tenant: latencies of calls, jobs, events, embedding backlog."""
        return await read_overview(self._caller.core)

    @routed("metrics.attention")
    async def attention(self) -> Sequence[Concern]:
        """Return what wants the attention of a person, most urgent first: dead jobs, a full disk and so on.

        An empty list means that all is well. Counts stop at 1,000, so that the call is cheap in large
        tenants.
        """
        return await read_attention(self._caller.core)

    @routed("metrics.series")
    async def series(
        self,
        *,
        hours: int | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> Series:
        """Return calls, durations, refusals, confidences and spend of the tenant over time, in all processes.

        Up to 7 days are returned by hour, longer times by day, up to the 90 days that are kept. Without
        `since` the series covers the last `hours` before `until`, which is now by default; without both, 24
        hours. Every process writes its counts every 30 seconds, and a killed one loses those of 30 seconds.
        """
        return await read_series(self._caller.core, hours=hours, since=since, until=until)

    @routed("metrics.growth")
    async def growth(self, *, days: int = 30) -> Sequence[GrowthDay]:
        """Return how many memories were stored on each of the last days of UTC, today last; at most 90.

        The counts are those of `series`; imports and restored backups are not in them.
        """
        return await read_growth(self._caller.core, days=days)

    @routed("metrics.snapshots")
    async def snapshots(self, *, refresh: bool = False) -> Sequence[Snapshot]:
        """Return five views of what the tenant holds, in counts, as of the last snapshot.

        A job takes a snapshot once a day; before its first run the result is empty. `refresh` takes one now,
        which takes some seconds for 100,000 memories.
        """
        return await read_snapshots(self._caller.core, refresh=check_flag("refresh", refresh))
