"""The page Memories: search, filter and open them. `memory` shows a single one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from mnemic.dashboard.highlighting import highlighted
from mnemic.dashboard.pages import Answer, Page, Shown, View
from mnemic.dashboard.views import memory
from mnemic.dashboard.visit import Visit
from mnemic.errors import InvalidInputError
from mnemic.types.memory import CATEGORIES, SOURCES, STATUSES
from mnemic.types.memory_list import MEMORY_ORDERS, MemoryFacets

PAGE_SIZE = 50
ROW_CHARACTERS = 160
"""How much of a text a row shows: two lines."""
NAME_CHARACTERS = 32
"""How much of the name of a conversation a row shows."""
TAGS_CHARACTERS = 32
"""How many characters of tags a row shows, but at least one tag."""
FACET_VALUES_SHOWN = 12
"""Values of each facet, the most frequent ones."""
Q_MAX_CHARACTERS = 400
ANY = "any"
KEPT = ("tag", "speaker", "conversation")
"""Filters that the facets set; the form keeps them."""
FURTHER = ("as_of", "since", "until", "min_confidence", "never_recalled")
"""Filters that the form shows only when asked."""
SPEAKER_FIELDS = {"name": "names", "role": "roles"}
"""A speaker is written as in `name:Alice` or `role:user`."""

_LAST_WORD = re.compile(r"\w\w$")


@dataclass(frozen=True)
class Facet:
    """A value to filter by, with the address of the list that it leads to."""

    label: str
    count: int
    url: str
    is_chosen: bool


async def show(visit: Visit) -> Answer:
    """A page of the list, with the values to filter further by."""
    filters, q = _filters(visit), visit.query.text("q", max_characters=Q_MAX_CHARACTERS)
    listed, facets, prefix = await _find(visit, filters, q)
    shown = listed[:PAGE_SIZE]
    searched = [*(q or "").split(), *([f"{prefix}*"] if prefix else [])]
    more = visit.url_here(before=str(shown[-1].memory_id)) if len(listed) > PAGE_SIZE else None
    context = {
        "q": q,
        "prefix": prefix,
        "rows": [
            (
                each,
                highlighted(each.content, searched, max_characters=ROW_CHARACTERS),
                _shown_tags(each.tags),
            )
            for each in shown
        ],
        "name_max": NAME_CHARACTERS,
        "more": more,
        "before": visit.query.id("before"),
        "facets": facets,
        "groups": _facet_groups(visit, facets),
        **_choices(visit),
        "is_filtered": any(name not in ("owner", "before", "order", "q") for name, _ in visit.query.pairs()),
    }
    return Shown(
        "memories.html",
        context,
        fragments={"#list": "fragments/_memory_list.html", "#rows": "fragments/_memory_rows.html"},
    )


def _shown_tags(tags: Sequence[str]) -> list[str]:
    """As many tags as fit into a row; all of them are on the page of the memory."""
    lengths = accumulate(len(tag) for tag in tags)
    fitting = sum(length <= TAGS_CHARACTERS for length in lengths)
    return list(tags[: max(fitting, 1)])


async def _find(
    visit: Visit, filters: dict[str, Any], q: str | None
) -> tuple[list[Any], MemoryFacets, str | None]:
    """Memories with all words; if there are none, those with words that begin like the last one."""
    listed, facets = await _list(visit, filters, q)
    if listed or q is None or not _LAST_WORD.search(q) or visit.query.id("before") is not None:
        return listed, facets, None
    listed, facets = await _list(visit, filters, f"{q}*")
    return listed, facets, q.split()[-1] if listed else None


async def _list(visit: Visit, filters: dict[str, Any], q: str | None) -> tuple[list[Any], MemoryFacets]:
    order = visit.query.choice("order", MEMORY_ORDERS, default=MEMORY_ORDERS[0])
    calls = visit.memory.memories
    before = visit.query.id("before")
    listed = await calls.list(
        **filters,
        q=q,
        order=order,  # type: ignore[arg-type]
        before=before,
        limit=PAGE_SIZE + 1,
    )
    if before is None and len(listed) <= PAGE_SIZE:
        # All that match are known, so that they need not be found again.
        return list(listed), await calls.facets(**filters, ids=[each.memory_id for each in listed])
    return list(listed), await calls.facets(**filters, q=q)


def _filters(visit: Visit) -> dict[str, Any]:
    """The filters of `memories.list` that the URL names."""
    query = visit.query
    status = query.choice("status", (*STATUSES, ANY), default="active")
    category = query.choice("category", CATEGORIES, default="")
    source = query.choice("source", SOURCES, default="")
    filters: dict[str, Any] = {
        "statuses": None if status == ANY else [status],
        "include_forgotten": status == ANY,
        "categories": [category] if category else None,
        "sources": [source] if source else None,
        "tags": query.all("tag"),
        "conversation": query.name("conversation"),
        "since": query.time("since"),
        "until": query.time("until"),
        "as_of": query.time("as_of"),
        "never_recalled": query.flag("never_recalled"),
        "min_confidence": query.number("min_confidence", default=0, low=0, high=1) or None,
    }
    if speaker := query.name("speaker"):
        kind, _, name = speaker.partition(":")
        if kind not in SPEAKER_FIELDS or not name:
            raise InvalidInputError("speaker must be written as name:Alice or role:user.")
        filters[SPEAKER_FIELDS[kind]] = [name]
    return filters


def _choices(visit: Visit) -> dict[str, Any]:
    """What the fields of the form offer, and what is chosen."""
    query = visit.query
    return {
        "choices": {
            "category": CATEGORIES,
            "status": (*STATUSES, ANY),
            "source": SOURCES,
            "order": MEMORY_ORDERS,
        },
        "chosen": {
            "category": query.text("category"),
            "status": query.text("status") or "active",
            "source": query.text("source"),
            "order": query.text("order") or MEMORY_ORDERS[0],
            "tag": query.text("tag"),
            "speaker": query.name("speaker"),
            "conversation": query.name("conversation"),
            **{name: query.text(name) for name in FURTHER},
        },
        "kept": KEPT,
        "is_further": any(query.text(name) for name in FURTHER),
    }


def _facet_groups(visit: Visit, facets: MemoryFacets) -> list[tuple[str, list[Facet]]]:
    """The values of each field, as links that add or remove a filter."""
    named = [(f"name:{each.value}", each.value, each.count) for each in facets.names]
    roles = [(f"role:{each.value}", each.value, each.count) for each in facets.roles]
    fields = {
        "category": [(each.value, each.value, each.count) for each in facets.categories],
        "status": [(each.value, each.value, each.count) for each in facets.statuses],
        "source": [(each.value, each.value, each.count) for each in facets.sources],
        "speaker": named + roles,
        "tag": [(each.value, each.value, each.count) for each in facets.tags],
    }
    found = {
        field: [_facet(visit, field, *value) for value in values[:FACET_VALUES_SHOWN]]
        for field, values in fields.items()
    }
    return [(field, values) for field, values in found.items() if values]


def _facet(visit: Visit, field: str, value: str, label: str, count: int) -> Facet:
    is_chosen = value in visit.query.all(field)
    url = visit.url_here(**{field: None if is_chosen else value, "before": None})
    return Facet(label, count, url, is_chosen)


PAGE = Page(
    name="memories",
    title="Memories",
    group="Memory",
    icon="stack",
    key="m",
    needs_owner=True,
    views=(View("GET", "/memories", show, call="memories.list"), *memory.VIEWS),
)
