"""The page Keys: to be built."""

from mnemic.dashboard.pages import Answer, Page, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import NotFoundError


async def show(visit: Visit) -> Answer:
    """Not built yet."""
    raise NotFoundError("This page is not built yet.")


PAGE = Page(
    name="keys",
    title="Keys",
    group="Access",
    icon="key",
    key="y",
    views=(View("GET", "/keys", show, call="keys.list"),),
)
