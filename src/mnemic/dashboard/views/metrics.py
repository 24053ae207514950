"""The page Metrics: to be built."""

from mnemic.dashboard.pages import Answer, Page, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import NotFoundError


async def show(visit: Visit) -> Answer:
    """Not built yet."""
    raise NotFoundError("This page is not built yet.")


PAGE = Page(
    name="metrics",
    title="Metrics",
    group="Machinery",
    icon="plot",
    key="t",
    views=(View("GET", "/metrics", show, call="metrics.overview"),),
)
