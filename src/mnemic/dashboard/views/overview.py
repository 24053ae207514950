"""The overview: how much is remembered, and what needs attention."""

from mnemic.dashboard.pages import Answer, Page, Shown, View
from mnemic.dashboard.visit import Visit


async def show(visit: Visit) -> Answer:
    """Show the counts of the last snapshot."""
    return Shown("overview.html", {"now": await visit.memory.metrics.overview()})


PAGE = Page(
    name="overview",
    title="Overview",
    group="Memory",
    icon="home",
    key="o",
    views=(View("GET", "/overview", show, call="metrics.overview"),),
)
