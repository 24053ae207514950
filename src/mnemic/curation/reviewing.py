"""What waits for a decision of a person: near duplicates, contradictions and memories in quarantine.

Listing compares nothing: memories that were not compared yet are only counted, and a background task or the
daily cleanup compares them (docs/adr/0018-compared-later.md). Turns and parts of longer texts are in no pair:
they are never merged or replaced.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import InvalidInputError
from mnemic.types.checks import check_choice, check_id
from mnemic.types.memory import MemoryRecord
from mnemic.types.page import check_limit
from mnemic.types.review import (
    REVIEW_KINDS,
    WAITING_COUNT_MAX,
    ReviewKind,
    ReviewPage,
    ReviewPair,
    Waiting,
)
from mnemic.types.scope import Scope

READ_MAX = 2_000
"""Pairs that one call reads: some no longer wait, because one of their memories was replaced or archived."""

_LISTS: Mapping[str, tuple[str, str | None]] = {
    "near_duplicate": ("review.near_duplicates", "review.last_near_duplicate"),
    "contradiction": ("review.contradictions", "review.last_contradiction"),
    "quarantine": ("review.quarantined", None),
}


async def count_waiting(database: TenantDatabase, scope: Scope) -> Waiting:
    """How much waits for a decision of the owner."""
    parameters = {"owner": scope.require_owner(), "read_most": READ_MAX, "most": WAITING_COUNT_MAX}
    async with database.transaction() as transaction:
        counts = await transaction.one("review.waiting", parameters)
    total = sum(count for name, count in counts.items() if name != "uncompared_count")
    return Waiting(**counts, total_count=total)


async def list_pairs(
    database: TenantDatabase, scope: Scope, kind: ReviewKind, *, before: str | None, limit: int
) -> ReviewPage:
    """Pairs of one kind that wait for a decision, newest first, with both memories."""
    query_name, last_name = _LISTS[check_choice("kind", kind, REVIEW_KINDS)]
    owner, page = scope.require_owner(), check_limit(limit)
    before_id, before_other_id = _parse_cursor(before)
    parameters = {"owner": owner, "before_id": before_id, "before_other_id": before_other_id}
    async with database.transaction(snapshot=True) as transaction:
        rows = await transaction.rows(query_name, {**parameters, "read_most": READ_MAX, "limit": page + 1})
        last: Row | None = rows[page - 1] if len(rows) > page else None
        if last is None and last_name is not None:
            last = await transaction.first(last_name, {**parameters, "read_most": READ_MAX})
        records = await _records(transaction, owner, rows[:page])
        counted = await transaction.one("review.uncompared", {"owner": owner, "most": WAITING_COUNT_MAX})
    pairs = (_pair(kind, row, records) for row in rows[:page])
    found = tuple(pair for pair in pairs if pair is not None)
    return ReviewPage(found, _cursor(last) if last is not None else None, counted["uncompared_count"])


async def _records(transaction: Transaction, owner: str, rows: Sequence[Row]) -> dict[UUID, MemoryRecord]:
    ids = {row[name] for row in rows for name in ("memory_id", "other_id") if row[name] is not None}
    if not ids:
        return {}
    found = await transaction.rows("changesets.memories", {"owner": owner, "ids": sorted(ids)})
    return {row["memory_id"]: MemoryRecord.from_row(row) for row in found}


def _pair(kind: ReviewKind, row: Row, records: Mapping[UUID, MemoryRecord]) -> ReviewPair | None:
    memory = records.get(row["memory_id"])
    if memory is None:
        return None
    other = records.get(row["other_id"]) if row["other_id"] is not None else None
    details: dict[str, Any] = {
        name: row[name] for name in ("reason", "similarity", "certainty", "attribute") if name in row
    }
    return ReviewPair(kind, memory, other, row["found_at"], **details)


def _cursor(row: Row) -> str:
    return ",".join(str(row[name]) for name in ("memory_id", "other_id") if row[name] is not None)


def _parse_cursor(before: object) -> tuple[UUID | None, UUID | None]:
    if before is None:
        return None, None
    if not isinstance(before, str):
        raise InvalidInputError("before must be the `next_before` of a page.")
    memory_id, _, other_id = before.partition(",")
    return check_id("before", memory_id), check_id("before", other_id) if other_id else None
