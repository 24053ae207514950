"""The page Cleanup: to be built."""

from mnemic.dashboard.pages import Answer, Page, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import NotFoundError


async def show(visit: Visit) -> Answer:
    """Not built yet."""
    raise NotFoundError("This page is not built yet.")


PAGE = Page(
    name="cleanup",
    title="Cleanup",
    group="Care",
    icon="broom",
    key="c",
    needs_owner=True,
    views=(View("GET", "/cleanup", show, call="curation.list"),),
)
