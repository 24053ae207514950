"""The page Recall: ask as an agent does, and see why each memory ranks as it does, or why recall refuses."""

from datetime import UTC, datetime, timedelta
from typing import Any

from mnemic.dashboard import score_parts
from mnemic.dashboard.highlighting import highlighted
from mnemic.dashboard.pages import Answer, Page, Shown, View
from mnemic.dashboard.visit import Visit
from mnemic.recall.refusal import REFUSE_BELOW, WEAK_BELOW
from mnemic.types.checks import check_choice
from mnemic.types.recalled import TECHNIQUES, Recalled

LIMITS = ("5", "10", "20", "50")
DEFAULT_LIMIT = "10"
WITHOUT_MODEL = TECHNIQUES[:5]
"""The techniques that need no language model; the others cost money while somebody types."""
MARKS = ((0, "now"), (30, "1 month"), (91, "3 months"), (182, "6 months"), (365, "1 year"), (730, "2 years"))
DAYS_MAX = 36_500
Q_MAX_CHARACTERS = 4_000


async def show(visit: Visit) -> Answer:
    """Answer the question in the URL; the call is neither counted nor logged."""
    query = visit.query
    q = query.text("q", max_characters=Q_MAX_CHARACTERS)
    limit = query.choice("limit", LIMITS, default=DEFAULT_LIMIT)
    chosen = [check_choice("technique", each, WITHOUT_MODEL) for each in query.all("technique")]
    oldest_days = await _oldest_days(visit)
    days = round(-query.number("day", default=0, low=-DAYS_MAX, high=0))
    as_of = query.time("as_of") or (datetime.now(UTC) - timedelta(days=days) if days else None)
    given = query.number("refuse_below", default=-1, low=0, high=1)
    asked: dict[str, Any] = {
        "limit": int(limit),
        "techniques": chosen or None,
        "as_of": as_of,
        "refuse_below": None if given < 0 else given,
    }
    found = await _ask(visit, q, asked) if q else None
    threshold = found.threshold if found is not None else REFUSE_BELOW if given < 0 else given
    context = {
        "q": q,
        "found": found,
        "limit": limit,
        "limits": LIMITS,
        "techniques": WITHOUT_MODEL,
        "chosen": chosen or WITHOUT_MODEL,
        "as_of": as_of,
        "as_of_date": query.text("as_of"),
        "days": days,
        "days_max": max(oldest_days, days, 1),
        "marks": [(day, label) for day, label in MARKS if day <= oldest_days],
        "threshold": threshold,
        "weak_below": WEAK_BELOW,
        **(_drawn(found) if found is not None else {}),
    }
    return Shown("recall.html", context, fragments={"#found": "fragments/_recalled.html"})


async def _ask(visit: Visit, q: str, asked: dict[str, Any]) -> Recalled:
    return await visit.memory.recall(q, explain=True, record=False, include=["entities"], **asked)


async def _oldest_days(visit: Visit) -> int:
    """How many days ago the first memory was stored: how far the slider reaches."""
    first = await visit.memory.memories.list(order="oldest", statuses=None, limit=1)
    return (datetime.now(UTC) - first[0].created_at).days if first else 0


def _drawn(found: Recalled) -> dict[str, Any]:
    """Bars, stages and the parts of the confidence."""
    scale = score_parts.scale_of(found.hits)
    times = {name: ms for name, ms in found.timings.items() if name != "total"}
    return {
        "hits": [
            {
                "hit": hit,
                "pieces": highlighted(hit.memory.content, hit.explain.words if hit.explain else ()),
                "stacked": score_parts.stacked(hit, scale),
                "waterfall": score_parts.waterfall(hit.explain.scores if hit.explain else {}),
            }
            for hit in found.hits
        ],
        "families": score_parts.FAMILIES,
        "stages": times,
        "longest_ms": max(times.values(), default=1.0),
        "confidence_parts": score_parts.waterfall(found.confidence_parts or {}),
    }


PAGE = Page(
    name="recall",
    title="Recall",
    group="Memory",
    icon="target",
    key="r",
    needs_owner=True,
    views=(View("GET", "/recall", show, call="recall"),),
)
