"""Whose memories a recall may look at: the owner's own, and those that grants let it see."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from mnemic.recall.request import Filter, Request
from mnemic.types.share import ReadableGrant

SOURCES_MAX = 32
"""Sources beyond this, the owner's own among them, are left out of a recall, and a note says so."""


@dataclass(frozen=True)
class Source:
    """Memories of one owner that pass a filter; `grant_id` is what lets a foreign owner's in."""

    owner: str
    filter: Filter
    grant_id: UUID | None = None

    def parameters(self, request: Request) -> dict[str, Any]:
        """As the queries in recall.sql want them."""
        wanted = self.filter
        listed = (
            _list(wanted.channels),
            _list(wanted.categories),
            _list(wanted.tags),
            _list(wanted.any_tags),
            wanted.conversation,
            wanted.since,
            wanted.until,
            wanted.min_confidence,
            _list(wanted.statuses),
            request.moment,
            request.as_of is not None,
        )
        return {"owner": self.owner, "filter": listed, "as_of": request.as_of}


def _list(values: tuple[str, ...] | None) -> list[str] | None:
    """As an array of the database: a tuple would be a row."""
    return None if values is None else list(values)


def own_source(request: Request) -> Source:
    """The owner's own memories."""
    return Source(request.scope.require_owner(), request.filter)


def shared_sources(request: Request, grants: Sequence[ReadableGrant]) -> list[Source]:
    """What each grant adds."""
    return [source for grant in grants if (source := _shared(request, grant)) is not None]


def _shared(request: Request, grant: ReadableGrant) -> Source | None:
    """What is wanted and granted; None if nothing can be both."""
    wanted = narrowed = request.filter
    if grant.channel is not None:
        # A grant names the channel of its giver: the reader sees it wherever he is himself, unless he
        # asks for certain channels.
        if request.names_channels and grant.channel not in (wanted.channels or ()):
            return None
        narrowed = replace(narrowed, channels=(grant.channel,))
    if grant.conversation is not None:
        if wanted.conversation not in (None, grant.conversation):
            return None
        narrowed = replace(narrowed, conversation=grant.conversation)
    if grant.categories is not None:
        both = [name for name in grant.categories if wanted.categories is None or name in wanted.categories]
        if not both:
            return None
        narrowed = replace(narrowed, categories=tuple(both))
    if grant.tags is not None:
        narrowed = replace(narrowed, any_tags=grant.tags)
    return Source(grant.owner, narrowed, grant.grant_id)
