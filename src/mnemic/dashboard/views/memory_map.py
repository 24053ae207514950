"""The page Map: to be built."""

from mnemic.dashboard.pages import Answer, Page, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import NotFoundError


async def show(visit: Visit) -> Answer:
    """Not built yet."""
    raise NotFoundError("This page is not built yet.")


PAGE = Page(
    name="map",
    title="Map",
    group="Memory",
    icon="map",
    key="p",
    needs_owner=True,
    views=(View("GET", "/map", show, call="memories.list"),),
)
