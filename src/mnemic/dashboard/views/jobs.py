"""The page Jobs: to be built."""

from mnemic.dashboard.pages import Answer, Page, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import NotFoundError


async def show(visit: Visit) -> Answer:
    """Not built yet."""
    raise NotFoundError("This page is not built yet.")


PAGE = Page(
    name="jobs",
    title="Jobs",
    group="Machinery",
    icon="jobs",
    key="j",
    views=(View("GET", "/jobs", show, call="jobs.list"),),
)
