"""The page Map: memories in two dimensions, near each other if they mean similar things."""

from typing import cast

from mnemic.dashboard.map_drawing import COLOURS, draw_map
from mnemic.dashboard.pages import Answer, Page, Redirected, Shown, View
from mnemic.dashboard.visit import Visit
from mnemic.types.memory import CATEGORIES, Category

SHOWN_MAX = 1_000
LISTED_MAX = 20
REGION_MAX = 1_000


async def show(visit: Visit) -> Answer:
    """Draw the map, or one of its regions, filtered by category."""
    category = visit.query.choice("category", CATEGORIES, default="")
    number = visit.query.text("region")
    region = (
        visit.query.whole_number("region", default=0, low=0, high=REGION_MAX) if number is not None else None
    )
    is_part = visit.fragment == "#map-state"
    found = await visit.memory.memories.map(
        categories=[cast(Category, category)] if category else None,
        region=region,
        limit=1 if is_part else SHOWN_MAX,
    )
    context = {
        "found": found,
        "drawing": draw_map(found, region),
        "colours": COLOURS,
        "category": category,
        "region": next((each for each in found.regions if each.region == region), None),
        "listed_max": LISTED_MAX,
        "may_make": visit.may("memories.make_map"),
    }
    return Shown("map.html", context, fragments={"#map-state": "fragments/_map_state.html"})


async def make(visit: Visit) -> Answer:
    """Enqueue the job that makes the map."""
    await visit.memory.memories.make_map()
    return Redirected(visit.url("map"), notice="A worker makes the map. This takes a few seconds.")


PAGE = Page(
    name="map",
    title="Map",
    group="Memory",
    icon="map",
    key="p",
    needs_owner=True,
    views=(
        View("GET", "/map", show, call="memories.map"),
        View("POST", "/map", make, call="memories.make_map"),
    ),
)
