"""The page Recall: to be built."""

from mnemic.dashboard.pages import Answer, Page, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import NotFoundError


async def show(visit: Visit) -> Answer:
    """Not built yet."""
    raise NotFoundError("This page is not built yet.")


PAGE = Page(
    name="recall",
    title="Recall",
    group="Memory",
    icon="target",
    key="r",
    needs_owner=True,
    views=(View("GET", "/recall", show, call="recall"),),
)
