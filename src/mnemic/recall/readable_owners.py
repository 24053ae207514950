"""Whose memories a recall may read: the owner's own, and those that grants open."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from mnemic.recall.request import Filter, Request
from mnemic.types.memory import STATUSES
from mnemic.types.scope import GLOBAL_CHANNEL
from mnemic.types.share import ReadableGrant

OWNERS_MAX = 32
"""Owners that one recall reads, the requesting owner included; a note says how many grants were left out."""

EVERYTHING = Filter(statuses=STATUSES)
"""All memories that are not forgotten or expired."""


@dataclass(frozen=True)
class ReadableOwner:
    """The memories of one owner that pass a filter; `grant_id` is the grant that opens another owner's.

    `granted` is all that the grant covers, whatever the request asks for.
    """

    owner: str
    filter: Filter
    grant_id: UUID | None = None
    granted: Filter | None = None

    @property
    def covers_everything(self) -> bool:
        """Whether the caller may read all memories of the owner."""
        return self.granted is None or self.granted == EVERYTHING

    @property
    def branch_candidates(self) -> list[str] | None:
        """The channels of the request that may be branches; None through a grant, which opens no branch."""
        if self.grant_id is not None:
            return None
        return [name for name in self.filter.channels or () if name != GLOBAL_CHANNEL]

    def parameters(self, request: Request) -> dict[str, Any]:
        """Parameters of the queries in recall.sql."""
        return {
            "owner": self.owner,
            "filter": _written(self.filter, request.moment, is_past=request.as_of is not None),
            "granted": self.granted and _written(self.granted, datetime.now(UTC), is_past=False),
            "as_of": request.as_of,
        }


def _written(wanted: Filter, moment: datetime, *, is_past: bool) -> tuple[Any, ...]:
    """A filter as a mnemic.recall_filter."""
    return (
        _list(wanted.channels),
        _list(wanted.categories),
        _list(wanted.tags),
        _list(wanted.any_tags),
        wanted.conversation,
        wanted.since,
        wanted.until,
        wanted.min_confidence,
        _list(wanted.statuses),
        moment,
        is_past,
        wanted.role,
        wanted.name,
        wanted.source,
        Jsonb(wanted.metadata) if wanted.metadata is not None else None,
        wanted.branch,
        _list(wanted.past_channels),
        _list(wanted.past_times),
    )


def _list(values: tuple[Any, ...] | None) -> list[Any] | None:
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
    return ReadableOwner(grant.owner, narrowed, grant.grant_id, _granted(grant))


def _granted(grant: ReadableGrant) -> Filter:
    """What a grant covers, in any status."""
    return replace(
        EVERYTHING,
        channels=(grant.channel,) if grant.channel is not None else None,
        categories=grant.categories,
        any_tags=grant.tags,
        conversation=grant.conversation,
    )
