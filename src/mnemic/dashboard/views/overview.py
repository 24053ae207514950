"""The overview: how much is remembered, what wants attention, how it grows, and what just happened.

Numbers of the whole tenant are for keys that are bound to no owner; others see what concerns their owner.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any

from mnemic.dashboard import time_charts
from mnemic.dashboard.pages import Answer, Page, Redirected, Shown, View
from mnemic.dashboard.rendering import percent
from mnemic.dashboard.time_charts import Row
from mnemic.dashboard.views import review
from mnemic.dashboard.visit import Visit
from mnemic.types.attention import COUNT_MAX, Concern, ConcernKind
from mnemic.types.overview import Snapshot
from mnemic.types.review import WAITING_COUNT_MAX
from mnemic.types.series import GrowthDay

EVENTS_SHOWN = 10
GROWTH_DAYS = 30
COUNTED_AGAIN_MAX_MEMORIES = 5_000
"""A tenant of at most so many memories is counted again when somebody looks: that takes some milliseconds."""
COUNTED_AGAIN_AFTER = timedelta(minutes=1)


@dataclass(frozen=True)
class Notice:
    """One line of what wants attention, and the page that deals with it."""

    count: str
    tone: str
    text: str
    advice: str
    url: str


@dataclass(frozen=True)
class Wording:
    """How a line reads for one and for many, what to do, and the page that deals with it."""

    one: str
    many: str
    advice: str
    page: str
    fields: Mapping[str, str] = field(default_factory=dict)
    tone: str = "warn"


CONCERNS: Mapping[ConcernKind, Wording] = {
    "disk": Wording(
        "of the disk is used", "", "Free some space: a full disk stops the database.", "cleanup", tone="bad"
    ),
    "dead_jobs": Wording(
        "job died", "jobs died", "Read the error, then replay.", "jobs", {"state": "dead"}, tone="bad"
    ),
    "failing_schedules": Wording(
        "schedule fails",
        "schedules fail",
        "The last job died, or it was paused by an error.",
        "jobs",
        tone="bad",
    ),
    "late_jobs": Wording(
        "job is late",
        "jobs are late",
        "Check that a worker runs: mnemic serve, mnemic worker.",
        "jobs",
        tone="bad",
    ),
    "spend": Wording("of a spend cap is used", "", "At 100 % no language model is called.", "metrics"),
    "unfinished_acts": Wording(
        "act was interrupted",
        "acts were interrupted",
        "It began and has no outcome.",
        "audit",
        {"outcome": "unfinished"},
    ),
    "missing_vectors": Wording(
        "memory has no vector", "memories have no vector", "Until then only words find them.", "jobs"
    ),
    "late_consolidation": Wording(
        "schedule of consolidation is late",
        "schedules of consolidation are late",
        "Nothing was learnt from what was said for a day.",
        "jobs",
    ),
}
CALLS = {
    "audit": "audit.operations",
    "cleanup": "cleanup.list",
    "jobs": "jobs.list",
    "metrics": "metrics.series",
    "review": "curation.list",
}
"""The calls that decide who may see the pages."""
WAITING: Mapping[str, Wording] = {
    "near_duplicate_count": Wording(
        "near duplicate waits",
        "near duplicates wait",
        "Merge, or keep both.",
        "review",
        {"tab": "duplicates"},
    ),
    "contradiction_count": Wording(
        "contradiction waits", "contradictions wait", "Say which holds.", "review", {"tab": "contradictions"}
    ),
    "quarantined_count": Wording(
        "memory is in quarantine",
        "memories are in quarantine",
        "Decide whether recall may find it.",
        "review",
        {"tab": "quarantine"},
    ),
    "staged_change_count": Wording(
        "proposed change waits", "proposed changes wait", "Approve or reject it.", "review", {"tab": "runs"}
    ),
}


async def show(visit: Visit) -> Answer:
    """Show everything that the key may see.

    One thing after the other: the browser has the head of the page already and loads style and scripts. On a
    small machine, reading more at once would take the processor from it, and the page would appear later.
    """
    is_tenant = visit.may("metrics.snapshots")
    recent = await visit.tenant_memory.events.list(order="newest", limit=EVENTS_SHOWN)
    numbers = await _tenant_numbers(visit) if is_tenant else {}
    waiting = await _waiting(visit)
    context = {"is_tenant": is_tenant, "recent": recent, **numbers}
    context["notices"] = [*(_notice(visit, each) for each in numbers.get("concerns", ())), *waiting]
    return Shown("overview.html", context)


async def count(visit: Visit) -> Answer:
    """Count everything now."""
    await visit.tenant_memory.metrics.snapshots(refresh=True)
    return Redirected(visit.url("overview"), notice="Everything was counted again.")


async def _tenant_numbers(visit: Visit) -> dict[str, Any]:
    metrics = visit.tenant_memory.metrics
    snapshots = await _snapshots(visit)
    concerns = await metrics.attention()
    growth = await metrics.growth(days=GROWTH_DAYS)
    by_name = {snapshot.name: snapshot for snapshot in snapshots}
    (summary,) = by_name["tenant_summary"].rows
    categories = [(row["category"], row["active_count"]) for row in by_name["stale_active"].rows]
    return {
        "counted_at": by_name["tenant_summary"].taken_at,
        "summary": summary,
        "categories": sorted(categories, key=lambda pair: -pair[1]),
        "concerns": concerns,
        "growth": _growth(growth),
        "grown_count": sum(day.stored_count for day in growth),
    }


async def _snapshots(visit: Visit) -> Sequence[Snapshot]:
    """The last snapshots; the first time, and in small tenants, the current ones."""
    kept = await visit.tenant_memory.metrics.snapshots()
    summary = next((snapshot for snapshot in kept if snapshot.name == "tenant_summary"), None)
    if summary is not None:
        is_small = summary.rows[0]["memory_count"] <= COUNTED_AGAIN_MAX_MEMORIES
        if not is_small or datetime.now(UTC) - summary.taken_at < COUNTED_AGAIN_AFTER:
            return kept
    return await visit.tenant_memory.metrics.snapshots(refresh=True)


def _growth(days: Sequence[GrowthDay]) -> time_charts.TimeChart:
    row = Row("stored", "k1", [day.stored_count for day in days])
    return time_charts.columns([row], [datetime.combine(day.day, time(), UTC) for day in days])


def _notice(visit: Visit, concern: Concern) -> Notice:
    wording = CONCERNS[concern.kind]
    if concern.share is not None:
        return Notice(percent(concern.share), wording.tone, wording.one, wording.advice, _url(visit, wording))
    return _counted(visit, wording, concern.count, COUNT_MAX)


async def _waiting(visit: Visit) -> list[Notice]:
    """What waits for a decision about the memories of the owner."""
    await visit.read_owners()
    if not visit.owner:
        return []
    waiting = await visit.memory.curation.waiting()
    visit.badges[review.PAGE.name] = review.badge_text(waiting)
    counts = {name: getattr(waiting, name) for name in WAITING}
    return [
        _counted(visit, WAITING[name], count, WAITING_COUNT_MAX, about=f" for {visit.owner}")
        for name, count in counts.items()
        if count
    ]


def _counted(visit: Visit, wording: Wording, count: int, most: int, *, about: str = "") -> Notice:
    shown = f"{count:,}" + ("+" if count >= most else "")
    text = (wording.one if count == 1 else wording.many) + about
    return Notice(shown, wording.tone, text, wording.advice, _url(visit, wording))


def _url(visit: Visit, wording: Wording) -> str:
    """The address of the page that deals with it; "" if the key may not see that page."""
    return visit.url(wording.page, **wording.fields) if visit.may(CALLS[wording.page]) else ""


PAGE = Page(
    name="overview",
    title="Overview",
    group="Memory",
    icon="home",
    key="o",
    reads_badges_of=(review.PAGE.name,),
    reads_owners=True,
    views=(
        View("GET", "/overview", show, call="events.list"),
        View("POST", "/overview", count, call="metrics.snapshots"),
    ),
)
