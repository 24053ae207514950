"""The page Events: to be built."""

from mnemic.dashboard.pages import Answer, Page, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import NotFoundError


async def show(visit: Visit) -> Answer:
    """Not built yet."""
    raise NotFoundError("This page is not built yet.")


PAGE = Page(
    name="events",
    title="Events",
    group="Machinery",
    icon="pulse",
    key="n",
    views=(View("GET", "/events", show, call="events.list"),),
)
