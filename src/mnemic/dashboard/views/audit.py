"""The page Audit: to be built."""

from mnemic.dashboard.pages import Answer, Page, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import NotFoundError


async def show(visit: Visit) -> Answer:
    """Not built yet."""
    raise NotFoundError("This page is not built yet.")


PAGE = Page(
    name="audit",
    title="Audit",
    group="Access",
    icon="audit",
    key="a",
    views=(View("GET", "/audit", show, call="audit.list"),),
)
