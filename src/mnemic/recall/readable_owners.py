"""Whose memories a recall may read: the owner's own, and those that grants open."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from mnemic.recall.request import Filter, Request
from mnemic.types.share import ReadableGrant

OWNERS_MAX = 32
"""Owners that one recall reads, the requesting owner included; a note says how many grants were left out."""


@dataclass(frozen=True)
class ReadableOwner:
    """The memories of one owner that pass a filter; `grant_id` is the grant that opens another owner's.

    `covers_everything` says that the filter is the caller's own choice, and that no memory of the owner is
    closed to the caller.
    """

    owner: str
    filter: Filter
    grant_id: UUID | None = None
    covers_everything: bool = True

    def parameters(self, request: Request) -> dict[str, Any]:
        """Parameters of the queries in recall.sql."""
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
    """A list, which becomes an array in the database; a tuple would become a row."""
    return None if values is None else list(values)


def requesting_owner(request: Request) -> ReadableOwner:
    """The owner's own memories."""
    return ReadableOwner(request.scope.require_owner(), request.filter)


def granting_owners(request: Request, grants: Sequence[ReadableGrant]) -> list[ReadableOwner]:
    """What each grant opens, as far as the request's filter lets it pass."""
    opened = (_opened_by(request, grant) for grant in grants)
    return [readable for readable in opened if readable is not None]


def _opened_by(request: Request, grant: ReadableGrant) -> ReadableOwner | None:
    """The intersection of the filter and the grant; None if it is empty."""
    wanted = narrowed = request.filter
    if grant.channel is not None:
        # A grant names a channel of the granting owner. The reader's active channel does not restrict it;
        # channels that the request names do.
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
    return ReadableOwner(grant.owner, narrowed, grant.grant_id, grant.covers_everything)
