"""Lists of memories: the calls of `memory.memories` that find many of them."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from mnemic.record import memory_lists
from mnemic.record.memory_lists import check_filter
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.checks import check_choice
from mnemic.types.memory import Category, MemoryRecord, Source, Status
from mnemic.types.memory_list import MEMORY_ORDERS, MemoryCount, MemoryFacets, MemoryOrder


class MemoryLists(CallGroup):
    """Pages, counts and facets of memories, with the same filters."""

    @routed("memories.list")
    async def list(
        self,
        *,
        q: str | None = None,
        ids: Sequence[UUID | str] | None = None,
        categories: Sequence[Category] | None = None,
        statuses: Sequence[Status] | None = ("active",),
        tags: Sequence[str] = (),
        sources: Sequence[Source] | None = None,
        roles: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        channel: str | None = None,
        conversation: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        min_confidence: float | None = None,
        never_recalled: bool = False,
        include_forgotten: bool = False,
        as_of: datetime | str | None = None,
        order: MemoryOrder = "newest",
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[MemoryRecord]:
        """Return memories in an order; `before` is the id of the last memory of the previous page.

        `q` are words that a memory must have, all of them, in any form (`moved` finds `moving`); `berl*`
        finds words that begin so. A memory must have all `tags`. `roles` and `names` say who spoke. `since`
        and `until` compare the time when it happened, or the time when it was recorded if that is not known.
        With `as_of`, memories are listed as they were known then.

        Without a `channel`, these are the memories outside of branches; in a branch, also those of its parent
        as of the fork. The order `happened` starts with what happened last, `salience` sorts the newest 1,000
        that match.
        """
        wanted = check_filter(
            q=q,
            ids=ids,
            categories=categories,
            statuses=statuses,
            tags=tags,
            sources=sources,
            roles=roles,
            names=names,
            channel=channel,
            conversation=conversation,
            since=since,
            until=until,
            min_confidence=min_confidence,
            never_recalled=never_recalled,
            include_forgotten=include_forgotten,
            as_of=as_of,
        )
        return await memory_lists.list_memories(
            self._caller.database,
            self._caller.scoped(owner),
            wanted,
            order=check_choice("order", order, MEMORY_ORDERS),
            before=before,
            limit=limit,
        )

    @routed("memories.count")
    async def count(
        self,
        *,
        q: str | None = None,
        ids: Sequence[UUID | str] | None = None,
        categories: Sequence[Category] | None = None,
        statuses: Sequence[Status] | None = ("active",),
        tags: Sequence[str] = (),
        sources: Sequence[Source] | None = None,
        roles: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        channel: str | None = None,
        conversation: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        min_confidence: float | None = None,
        never_recalled: bool = False,
        include_forgotten: bool = False,
        as_of: datetime | str | None = None,
        owner: str | None = None,
    ) -> MemoryCount:
        """Return how many memories match the filters of `list`, counted up to 10,000."""
        wanted = check_filter(
            q=q,
            ids=ids,
            categories=categories,
            statuses=statuses,
            tags=tags,
            sources=sources,
            roles=roles,
            names=names,
            channel=channel,
            conversation=conversation,
            since=since,
            until=until,
            min_confidence=min_confidence,
            never_recalled=never_recalled,
            include_forgotten=include_forgotten,
            as_of=as_of,
        )
        return await memory_lists.count_memories(self._caller.database, self._caller.scoped(owner), wanted)

    @routed("memories.facets")
    async def facets(
        self,
        *,
        q: str | None = None,
        ids: Sequence[UUID | str] | None = None,
        categories: Sequence[Category] | None = None,
        statuses: Sequence[Status] | None = ("active",),
        tags: Sequence[str] = (),
        sources: Sequence[Source] | None = None,
        roles: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        channel: str | None = None,
        conversation: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        min_confidence: float | None = None,
        never_recalled: bool = False,
        include_forgotten: bool = False,
        as_of: datetime | str | None = None,
        owner: str | None = None,
    ) -> MemoryFacets:
        """Return the values to filter further by: the most frequent ones of the memories that match.

        They are counted over the newest 1,000 that match.
        """
        wanted = check_filter(
            q=q,
            ids=ids,
            categories=categories,
            statuses=statuses,
            tags=tags,
            sources=sources,
            roles=roles,
            names=names,
            channel=channel,
            conversation=conversation,
            since=since,
            until=until,
            min_confidence=min_confidence,
            never_recalled=never_recalled,
            include_forgotten=include_forgotten,
            as_of=as_of,
        )
        return await memory_lists.facet_memories(self._caller.database, self._caller.scoped(owner), wanted)
