"""The page Entities: to be built."""

from mnemic.dashboard.pages import Answer, Page, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import NotFoundError


async def show(visit: Visit) -> Answer:
    """Not built yet."""
    raise NotFoundError("This page is not built yet.")


PAGE = Page(
    name="entities",
    title="Entities",
    group="Memory",
    icon="graph",
    key="e",
    needs_owner=True,
    views=(View("GET", "/entities", show, call="entities.list"),),
)
