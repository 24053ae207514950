"""The page Metrics: how calls went over the last 24 hours, 7 days or 30 days, in all processes."""

from typing import Any

from mnemic.dashboard import time_charts
from mnemic.dashboard.pages import Answer, Page, Shown, View
from mnemic.dashboard.time_charts import Row
from mnemic.dashboard.visit import Visit
from mnemic.types.series import CONFIDENCE_BINS, Series, SeriesPoint

SPANS = {"24h": 24, "7d": 7 * 24, "30d": 30 * 24}
VIEWS = ("charts", "table")
TITLES = {"24h": "24 hours", "7d": "7 days", "30d": "30 days"}


async def show(visit: Visit) -> Answer:
    """Show the series of the chosen time."""
    span = visit.query.choice("span", SPANS, default="24h")
    series = await visit.memory.metrics.series(hours=SPANS[span])
    totals = series.totals
    return Shown(
        "metrics.html",
        {
            "span": span,
            "spans": TITLES,
            "view": visit.query.choice("view", VIEWS, default="charts"),
            "series": series,
            "totals": totals,
            "call_count": sum(calls.call_count for calls in totals.values()),
            "failed_count": sum(calls.failed_count for calls in totals.values()),
            "charts_of": _charts(series),
            "bins": _bins(series),
            "listed": [point for point in series.points if _has_calls(point)],
        },
    )


def _charts(series: Series) -> dict[str, time_charts.TimeChart]:
    times = [point.at for point in series.points]

    def row(name: str, style: str, operation: str, field: str) -> Row:
        return Row(name, style, [getattr(point.calls[operation], field) for point in series.points])

    def latency(operation: str) -> time_charts.TimeChart:
        styles = (("p50", "line-1"), ("p95", "line-2"), ("p99", "line-3"))
        return time_charts.lines([row(name, style, operation, f"{name}_ms") for name, style in styles], times)

    return {
        "recall": latency("recall"),
        "retain": latency("retain"),
        "calls": time_charts.columns(
            [
                row("recall", "k1", "recall", "call_count"),
                row("retain", "k2 dotted", "retain", "call_count"),
                row("language model", "k3 hollow", "model", "call_count"),
            ],
            times,
        ),
        "refusals": time_charts.columns(
            [
                row("refused", "k5", "recall", "refused_count"),
                row("weak", "k3 hollow", "recall", "weak_count"),
            ],
            times,
        ),
        "failures": time_charts.columns(
            [Row("failed", "k5", [sum(c.failed_count for c in p.calls.values()) for p in series.points])],
            times,
        ),
        "retained": time_charts.columns([row("stored", "k1", "retain", "memory_count")], times),
        "spend": time_charts.columns(
            [Row("cost", "k4", [float(point.usd) for point in series.points])], times, unit="$"
        ),
    }


def _bins(series: Series) -> list[dict[str, Any]]:
    """The histogram of confidences: each bin with its bounds, and whether recall refuses below its middle."""
    return [
        {
            "low": place / CONFIDENCE_BINS,
            "high": (place + 1) / CONFIDENCE_BINS,
            "count": count,
            "is_refused": (place + 0.5) / CONFIDENCE_BINS < series.refuse_below,
        }
        for place, count in enumerate(series.confidences)
    ]


def _has_calls(point: SeriesPoint) -> bool:
    return any(calls.call_count for calls in point.calls.values())


PAGE = Page(
    name="metrics",
    title="Metrics",
    group="Machinery",
    icon="plot",
    key="t",
    views=(View("GET", "/metrics", show, call="metrics.series"),),
)
