"""The page Owners: to be built."""

from mnemic.dashboard.pages import Answer, Page, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import NotFoundError


async def show(visit: Visit) -> Answer:
    """Not built yet."""
    raise NotFoundError("This page is not built yet.")


PAGE = Page(
    name="owners",
    title="Owners",
    group="Care",
    icon="people",
    key="w",
    views=(View("GET", "/owners", show, call="admin.owners"),),
)
