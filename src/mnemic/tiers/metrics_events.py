"""Metrics: measured values, one event each, read as summaries."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from mnemic.db.database import TenantDatabase
from mnemic.db.json_value import as_jsonb_object
from mnemic.tiers.events import EventKind, EventWindow, Time
from mnemic.types.checks import check_choice, check_number, check_text, check_time
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope, check_name
from mnemic.types.tiers import METRIC_KINDS, MetricEvent, MetricKind, MetricSummary

UNIT_MAX_CHARACTERS = 32
# Default period of a summary.
SUMMARY_PERIOD = timedelta(hours=24)

_METRICS = EventKind("metrics_events", MetricEvent)


async def record_metric(
    database: TenantDatabase,
    scope: Scope,
    *,
    kind: MetricKind,
    name: str,
    value: float,
    unit: str,
    metadata: Mapping[str, Any],
    at: Time | None,
) -> MetricEvent:
    """Add a value."""
    fields = {
        "kind": check_choice("kind", kind, METRIC_KINDS),
        "name": check_name("name", name),
        "value": check_number("value", value),
        "unit": check_text("unit", unit, max_characters=UNIT_MAX_CHARACTERS),
        "metadata": as_jsonb_object("metadata", metadata),
    }
    return await _METRICS.append(database, scope, fields, at=at)


async def summarise_metrics(
    database: TenantDatabase,
    scope: Scope,
    window: EventWindow,
    *,
    kind: MetricKind | None,
    name: str | None,
    limit: int,
) -> list[MetricSummary]:
    """One summary per kind, name and unit in the window, those with the most values first."""
    parameters = {
        **_bounded(window).parameters(scope),
        "kind": check_choice("kind", kind, METRIC_KINDS) if kind is not None else None,
        "name": check_name("name", name) if name is not None else None,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [MetricSummary(**row) for row in await transaction.rows("metrics_events.summary", parameters)]


def _bounded(window: EventWindow) -> EventWindow:
    """The window with a start: percentiles sort every value in it, so it must not cover all of history."""
    if window.since is not None:
        return window
    until = check_time("until", window.until) if window.until is not None else datetime.now(UTC)
    return replace(window, since=until - SUMMARY_PERIOD)
