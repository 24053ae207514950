"""The page Review: to be built."""

from mnemic.dashboard.pages import Answer, Page, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import NotFoundError


async def show(visit: Visit) -> Answer:
    """Not built yet."""
    raise NotFoundError("This page is not built yet.")


PAGE = Page(
    name="review",
    title="Review",
    group="Care",
    icon="review",
    key="v",
    needs_owner=True,
    views=(View("GET", "/review", show, call="curation.list"),),
)
