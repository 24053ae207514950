"""The list of all pages, in the order of the navigation."""

from mnemic.dashboard.pages import Page
from mnemic.dashboard.views import (
    audit,
    cleanup,
    context,
    entities,
    events,
    jobs,
    keys,
    memories,
    memory_map,
    metrics,
    overview,
    owners,
    recall,
    review,
)

PAGES: tuple[Page, ...] = (
    overview.PAGE,
    memories.PAGE,
    recall.PAGE,
    entities.PAGE,
    memory_map.PAGE,
    context.PAGE,
    review.PAGE,
    cleanup.PAGE,
    owners.PAGE,
    jobs.PAGE,
    events.PAGE,
    metrics.PAGE,
    audit.PAGE,
    keys.PAGE,
)
