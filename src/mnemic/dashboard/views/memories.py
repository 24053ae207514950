"""The page Memories: to be built."""

from mnemic.dashboard.pages import Answer, Page, View
from mnemic.dashboard.visit import Visit
from mnemic.errors import NotFoundError


async def show(visit: Visit) -> Answer:
    """Not built yet."""
    raise NotFoundError("This page is not built yet.")


PAGE = Page(
    name="memories",
    title="Memories",
    group="Memory",
    icon="stack",
    key="m",
    needs_owner=True,
    views=(View("GET", "/memories", show, call="memories.list"),),
)
