"""Lists of memories: a page, a count, and the values to filter by. `mnemic.list_memories` finds the ids.

Every call is bounded: a page by its limit, a count by `COUNTED_MAX`, facets by `FACETED_MAX`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import InvalidInputError
from mnemic.types.checks import (
    check_choices,
    check_flag,
    check_id,
    check_share,
    check_text,
    check_time,
    check_window,
)
from mnemic.types.memory import CATEGORIES, SOURCES, STATUSES, MemoryRecord
from mnemic.types.memory_list import (
    COUNTED_MAX,
    FACET_VALUES_MAX,
    FACETED_MAX,
    SALIENT_MAX,
    FacetValue,
    MemoryCount,
    MemoryFacets,
)
from mnemic.types.page import LIST_MAX, check_limit
from mnemic.types.scope import GLOBAL_CHANNEL, Scope, check_name
from mnemic.types.tags import check_tags

WORDS_MAX_CHARACTERS = 400
NAMES_MAX = 100
"""Roles and names that one call may filter by."""


@dataclass(frozen=True)
class MemoryFilter:
    """Which memories are listed; None does not restrict. The fields of mnemic.memory_filter in SQL."""

    ids: list[UUID] | None
    words: str | None
    categories: list[str] | None
    statuses: list[str] | None
    tags: list[str] | None
    sources: list[str] | None
    roles: list[str] | None
    names: list[str] | None
    channel: str | None
    conversation: str | None
    since: datetime | None
    until: datetime | None
    min_confidence: float | None
    never_recalled: bool
    include_forgotten: bool
    as_of: datetime | None

    @property
    def reads_past(self) -> bool:
        """Whether earlier versions may be listed: as of a time, or in a channel that may be a branch."""
        return self.as_of is not None or self.channel not in (None, GLOBAL_CHANNEL)

    def parameters(self, scope: Scope) -> dict[str, Any]:
        """Parameters of the queries of lists."""
        fields = asdict(self)
        return {
            "owner": scope.require_owner(),
            "channel": self.channel,
            "as_of": self.as_of,
            "filter": tuple(fields.values()),
        }


def check_filter(
    *,
    q: object,
    ids: object,
    categories: object,
    statuses: object,
    tags: object,
    sources: object,
    roles: object,
    names: object,
    channel: object,
    conversation: object,
    since: object,
    until: object,
    min_confidence: object,
    never_recalled: object,
    include_forgotten: object,
    as_of: object,
) -> MemoryFilter:
    """The filter of a list; InvalidInputError names the argument that cannot be used."""
    window = check_window(since, until)
    return MemoryFilter(
        ids=_ids(ids),
        words=None if q is None else check_text("q", q, max_characters=WORDS_MAX_CHARACTERS),
        categories=check_choices("categories", categories, CATEGORIES),
        statuses=check_choices("statuses", statuses, STATUSES),
        tags=list(check_tags(tags)) or None,
        sources=check_choices("sources", sources, SOURCES),
        roles=_names("roles", roles),
        names=_names("names", names),
        channel=None if channel is None else check_name("channel", channel),
        conversation=None if conversation is None else check_name("conversation", conversation),
        since=window["since"],
        until=window["until"],
        min_confidence=None if min_confidence is None else check_share("min_confidence", min_confidence),
        never_recalled=check_flag("never_recalled", never_recalled),
        include_forgotten=check_flag("include_forgotten", include_forgotten),
        as_of=None if as_of is None else check_time("as_of", as_of),
    )


async def list_memories(
    database: TenantDatabase,
    scope: Scope,
    wanted: MemoryFilter,
    *,
    order: str,
    before: object,
    limit: object,
) -> list[MemoryRecord]:
    """One page of memories; of a channel that is a branch, also those that it reads."""
    cursor = None if before is None else check_id("before", before)
    parameters = {
        **wanted.parameters(scope),
        "order": "newest" if order == "salience" else order,
        "before": cursor,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        if order == "salience":
            return await _most_salient(transaction, scope, wanted, parameters)
        return await _records(transaction, wanted, parameters)


async def count_memories(database: TenantDatabase, scope: Scope, wanted: MemoryFilter) -> MemoryCount:
    """How many memories match, counted up to `COUNTED_MAX`."""
    async with database.transaction() as transaction:
        row = await transaction.one(
            "memory_lists.count", {**wanted.parameters(scope), "limit": COUNTED_MAX + 1}
        )
    return MemoryCount(min(row["memory_count"], COUNTED_MAX), row["memory_count"] <= COUNTED_MAX)


async def facet_memories(database: TenantDatabase, scope: Scope, wanted: MemoryFilter) -> MemoryFacets:
    """The values of the memories that match, counted over the newest `FACETED_MAX`."""
    parameters = wanted.parameters(scope)
    async with database.transaction() as transaction:
        if wanted.reads_past:
            past = {**parameters, "order": "newest", "before": None, "limit": LIST_MAX + 1}
            records = await _records(transaction, wanted, past)
            return _counted(records[:LIST_MAX], is_exact=len(records) <= LIST_MAX)
        rows = await transaction.rows(
            "memory_lists.facets",
            {**parameters, "limit": FACETED_MAX + 1, "values_max": FACET_VALUES_MAX},
        )
    found: dict[str, list[FacetValue]] = {}
    for row in rows:
        found.setdefault(row["field"], []).append(FacetValue(row["value"] or "", row["memory_count"]))
    total = found["total"][0].count
    return _facets(found, min(total, FACETED_MAX), is_exact=total <= FACETED_MAX)


async def _records(
    transaction: Transaction, wanted: MemoryFilter, parameters: dict[str, Any]
) -> list[MemoryRecord]:
    query = "memory_lists.list_past" if wanted.reads_past else "memory_lists.list"
    rows = await transaction.rows(query, parameters)
    # What outdates a memory of another channel, or after `as_of`, may have been stored later.
    return [
        MemoryRecord.from_row(
            {**row, "outdated_by": None}
            if wanted.as_of or wanted.channel not in (None, row["channel"])
            else row
        )
        for row in rows
    ]


async def _most_salient(
    transaction: Transaction, scope: Scope, wanted: MemoryFilter, parameters: dict[str, Any]
) -> list[MemoryRecord]:
    """A page of the newest matches, most salient first. The row `before` is the last of the page before."""
    if wanted.reads_past:
        raise InvalidInputError(
            "The order salience lists current memories: leave out as_of and channel, or use another order."
        )
    limit, cursor = parameters["limit"], parameters["before"]
    rows = await transaction.rows("memory_lists.salient", {**parameters, "limit": SALIENT_MAX})
    ids = [row["memory_id"] for row in rows]
    start = 0 if cursor is None else ids.index(cursor) + 1 if cursor in ids else len(ids)
    page = replace(wanted, ids=ids[start : start + limit])
    found = await _records(transaction, page, {**parameters, **page.parameters(scope), "before": None})
    return sorted(found, key=lambda record: ids.index(record.memory_id))


def _counted(records: Sequence[MemoryRecord], *, is_exact: bool) -> MemoryFacets:
    """The facets of records that were read."""
    values: dict[str, Iterable[str | None]] = {
        "category": (each.category for each in records),
        "status": (each.status for each in records),
        "source": (each.source for each in records),
        "tag": (tag for each in records for tag in each.tags),
        "role": (each.role for each in records),
        "name": (each.name for each in records),
    }
    found = {
        field: [FacetValue(value, count) for value, count in _frequent(each)]
        for field, each in values.items()
    }
    return _facets(found, len(records), is_exact=is_exact)


def _frequent(values: Iterable[str | None]) -> list[tuple[str, int]]:
    counts = Counter(value for value in values if value is not None)
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:FACET_VALUES_MAX]


def _facets(found: dict[str, list[FacetValue]], memory_count: int, *, is_exact: bool) -> MemoryFacets:
    return MemoryFacets(
        categories=tuple(found.get("category", ())),
        statuses=tuple(found.get("status", ())),
        sources=tuple(found.get("source", ())),
        tags=tuple(found.get("tag", ())),
        roles=tuple(found.get("role", ())),
        names=tuple(found.get("name", ())),
        memory_count=memory_count,
        is_exact=is_exact,
    )


def _ids(given: object) -> list[UUID] | None:
    if given is None:
        return None
    found = [check_id("ids", value) for value in _values("ids", given)]
    if len(found) > LIST_MAX:
        raise InvalidInputError(f"ids: at most {LIST_MAX} are allowed.")
    return found


def _names(field: str, given: object) -> list[str] | None:
    if given is None:
        return None
    found = [check_name(field, value) for value in _values(field, given)]
    if len(found) > NAMES_MAX:
        raise InvalidInputError(f"{field}: at most {NAMES_MAX} are allowed.")
    return found


def _values(field: str, given: object) -> Iterable[object]:
    if isinstance(given, str | UUID):
        return [given]
    if not isinstance(given, Iterable):
        raise InvalidInputError(f"{field} must be a list, not {type(given).__name__}.")
    return given
