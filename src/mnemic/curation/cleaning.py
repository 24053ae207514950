"""Cleanup: list memories that could be archived, and archive some or all of them in one changeset.

The kinds are *stale* (recalled once, not for long, and of low salience), *never recalled*, *expired*, and
*dead links*: a memory that was replaced by one that is forgotten is archived, and evidence that leads to
nothing is removed from a memory, which stays. Anchored memories, turns, documents, goals, parts of longer
texts and memories of branches are left out.

A call reads a bounded number of memories, section by section, and says where the next one continues. Counting
reads all of them, so the daily cleanup counts, and counts are stored with their time.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import InvalidInputError
from mnemic.govern.audit import audited
from mnemic.record.change_log import read_diff
from mnemic.record.changesets import MemoryChange, stage, stage_and_apply
from mnemic.types.checks import check_id
from mnemic.types.cleanup import (
    CLEANUP_KINDS,
    RUN_MAX,
    SALIENCE_BELOW,
    UNUSED_DAYS,
    CleanupCandidate,
    CleanupCount,
    CleanupKind,
    CleanupPage,
    CleanupRun,
)
from mnemic.types.memory import MemoryRecord
from mnemic.types.scope import Scope

READ_MAX = 2_000
"""Memories that listing one page reads."""
RUN_READ_MAX = 20_000
"""Memories that one run reads."""
COUNT_READ_MAX = 100_000
"""Memories of each kind that counting reads."""
SHOWN_MAX = 100
"""Changes of a run that its result shows; `curation.diff` shows all."""

CATEGORIES = ("behavioral", "factual", "preference", "procedural")
"""Turns and events, documents and goals are never archived for not being used."""

_SECTIONS: Mapping[CleanupKind, Mapping[str, str]] = {
    "stale": dict.fromkeys(CATEGORIES, "cleanup.read_category"),
    "never_recalled": dict.fromkeys(CATEGORIES, "cleanup.read_category"),
    "expired": {"expired": "cleanup.read_expired"},
    "dead_links": {"evidence": "cleanup.read_evidenced", "replaced": "cleanup.read_replaced"},
}
"""The queries that read the candidates of each kind, in the order in which they are listed."""


class _DryRun(Exception):
    """Rolls the transaction of a dry run back."""


@dataclass(frozen=True, slots=True)
class CleanupLimits:
    """What makes a memory stale or never recalled."""

    unused_days: int = UNUSED_DAYS
    salience_below: float = SALIENCE_BELOW


@dataclass(frozen=True, slots=True)
class _Cursor:
    """Pagination cursor of a list: a section and the last memory that was read in it."""

    section: str
    after_id: UUID | None

    def __str__(self) -> str:
        return f"{self.section},{self.after_id or ''}"


async def list_candidates(
    database: TenantDatabase,
    scope: Scope,
    kind: CleanupKind,
    limits: CleanupLimits,
    *,
    after: str | None,
    limit: int,
) -> CleanupPage:
    """A page of memories that could be archived."""
    start = _parse_cursor(kind, after)
    async with database.transaction() as transaction:
        finding = _Finding(transaction, scope.require_owner(), kind, limits)
        found, cursor = await finding.find(start, limit, READ_MAX)
        records = await finding.records(found)
    candidates = tuple(_candidate(kind, row, records, limits) for row in found)
    return CleanupPage(kind, candidates, str(cursor) if cursor is not None else None)


async def archive(
    database: TenantDatabase,
    scope: Scope,
    kind: CleanupKind,
    limits: CleanupLimits,
    *,
    memory_ids: Sequence[UUID] | None,
    dry_run: bool,
) -> CleanupRun:
    """Archive the memories that are named, or all that qualify up to RUN_MAX, in one changeset."""
    if memory_ids is not None and not 1 <= len(memory_ids) <= RUN_MAX:
        raise InvalidInputError(f"Name 1 to {RUN_MAX:,} memories, or none for all; not {len(memory_ids):,}.")
    if dry_run:
        return await _dry_run(database, scope, kind, limits, memory_ids)
    async with audited(database, scope, action="cleanup", target=kind) as act:

        async def work(transaction: Transaction) -> CleanupRun:
            run = await _run(transaction, scope, kind, limits, memory_ids, dry_run=False)
            act.outcome(change_count=run.change_count)
            await act.commit_with(transaction)
            return run

        return await database.run(work)


async def read_counts(database: TenantDatabase, scope: Scope, *, refresh: bool) -> list[CleanupCount]:
    """The stored counts of all kinds; `refresh` counts first. Empty if nobody has counted yet."""
    owner = scope.require_owner()
    if refresh:
        await count_candidates(database, owner)
    async with database.transaction() as transaction:
        rows = await transaction.rows("cleanup.counts", {"owner": owner})
    return sorted((CleanupCount(**row) for row in rows), key=lambda each: CLEANUP_KINDS.index(each.kind))


class _Finding:
    """Finds the memories of one kind inside a transaction."""

    def __init__(
        self, transaction: Transaction, owner: str, kind: CleanupKind, limits: CleanupLimits
    ) -> None:
        self._transaction = transaction
        self._owner = owner
        self._kind: CleanupKind = kind
        self._limits = limits

    async def find(
        self, start: _Cursor | None, limit: int, read_most: int
    ) -> tuple[list[Row], _Cursor | None]:
        """At most `limit` rows of `cleanup.qualifying`, and where to continue; None at the end."""
        found: list[tuple[str, Row]] = []
        cursor = start
        while read_most > 0:
            section = cursor.section if cursor is not None else next(iter(_SECTIONS[self._kind]))
            room = min(READ_MAX, read_most)
            ids = await self._read(section, cursor.after_id if cursor is not None else None, room)
            read_most -= max(1, len(ids))
            for row in await self.qualifying(ids):
                if (row["status"] in _REPLACED) != (section == "replaced"):
                    continue
                if len(found) == limit:
                    last_section, last = found[-1]
                    return [each for _, each in found], _Cursor(last_section, last["memory_id"])
                found.append((section, row))
            cursor = _Cursor(section, ids[-1]) if len(ids) == room else self._next_section(section)
            if cursor is None:
                break
        return [row for _, row in found], cursor

    async def qualifying(self, ids: Sequence[UUID]) -> list[Row]:
        """Those of the memories that qualify."""
        if not ids:
            return []
        parameters = {
            "owner": self._owner,
            "ids": list(ids),
            "kind": self._kind,
            "categories": list(CATEGORIES),
            "unused_days": self._limits.unused_days,
            "salience_below": self._limits.salience_below,
        }
        return list(await self._transaction.rows("cleanup.qualifying", parameters))

    async def records(self, found: Sequence[Row]) -> dict[UUID, MemoryRecord]:
        """The memories with all their fields."""
        parameters = {"owner": self._owner, "ids": [row["memory_id"] for row in found]}
        rows = await self._transaction.rows("changesets.memories", parameters) if found else []
        return {row["memory_id"]: MemoryRecord.from_row(row) for row in rows}

    async def _read(self, section: str, after_id: UUID | None, read_most: int) -> list[UUID]:
        parameters = {"owner": self._owner, "section": section, "after_id": after_id, "read_most": read_most}
        query_name = _SECTIONS[self._kind][section]
        return [row["memory_id"] for row in await self._transaction.rows(query_name, parameters)]

    def _next_section(self, section: str) -> _Cursor | None:
        sections = list(_SECTIONS[self._kind])
        position = sections.index(section) + 1
        return _Cursor(sections[position], None) if position < len(sections) else None


async def _dry_run(
    database: TenantDatabase,
    scope: Scope,
    kind: CleanupKind,
    limits: CleanupLimits,
    memory_ids: Sequence[UUID] | None,
) -> CleanupRun:
    """The run, rolled back."""
    runs: list[CleanupRun] = []

    async def work(transaction: Transaction) -> None:
        runs[:] = [await _run(transaction, scope, kind, limits, memory_ids, dry_run=True)]
        raise _DryRun

    with suppress(_DryRun):
        await database.run(work)
    return runs[0]


async def _run(
    transaction: Transaction,
    scope: Scope,
    kind: CleanupKind,
    limits: CleanupLimits,
    memory_ids: Sequence[UUID] | None,
    *,
    dry_run: bool,
) -> CleanupRun:
    owner = scope.require_owner()
    finding = _Finding(transaction, owner, kind, limits)
    cursor: _Cursor | None = None
    if memory_ids is None:
        found, cursor = await finding.find(None, RUN_MAX, RUN_READ_MAX)
    else:
        found = await finding.qualifying(memory_ids)
    qualified = {row["memory_id"] for row in found}
    left_out = tuple(each for each in memory_ids or () if each not in qualified)
    if not found:
        text = "There is nothing to change."
        return CleanupRun(kind, None, 0, (), left_out, cursor is None, dry_run, text)
    records = await finding.records(found)
    changes = [_change(kind, row, records[row["memory_id"]], limits) for row in found]
    write = stage if dry_run else stage_and_apply
    changeset_id = await write(
        transaction,
        scope,
        changes,
        purpose="cleanup",
        reason=_REASONS[kind].format(limits=limits),
        details={"kind": kind},
    )
    diff = await read_diff(transaction, owner, changeset_id, after=None, limit=SHOWN_MAX)
    shown_id = None if dry_run else changeset_id
    return CleanupRun(
        kind, shown_id, len(changes), diff.changes, left_out, cursor is None, dry_run, diff.text
    )


def _candidate(
    kind: CleanupKind, row: Row, records: Mapping[UUID, MemoryRecord], limits: CleanupLimits
) -> CleanupCandidate:
    memory = records[row["memory_id"]]
    used_at = row["used_at"] if kind in ("stale", "never_recalled") else None
    reason = _change(kind, row, memory, limits).reason
    return CleanupCandidate(memory, reason, used_at, tuple(row["dead_references"] or ()))


def _change(kind: CleanupKind, row: Row, memory: MemoryRecord, limits: CleanupLimits) -> MemoryChange:
    if kind == "dead_links" and row["status"] not in _REPLACED:
        dead = set(row["dead_references"])
        kept = tuple(each for each in memory.evidence if each not in dead)
        reason = "It names evidence that was forgotten or erased."
        return MemoryChange(memory.memory_id, "unlink", {"evidence": kept}, reason)
    reason = "It was replaced by a memory that is forgotten." if kind == "dead_links" else _REASONS[kind]
    return MemoryChange(memory.memory_id, "archive", {"status": "archived"}, reason.format(limits=limits))


_REPLACED = ("superseded", "merged")
_REASONS: Mapping[CleanupKind, str] = {
    "stale": (
        "It was not recalled for {limits.unused_days} days, and its salience is below "
        "{limits.salience_below}."
    ),
    "expired": "It has expired.",
    "never_recalled": "It was never recalled in {limits.unused_days} days.",
    "dead_links": "References lead to nothing.",
}


async def count_candidates(database: TenantDatabase, owner: str) -> None:
    """Count the memories of all kinds, each kind in a transaction of its own, and store the counts."""
    counted: list[tuple[str, int, bool]] = []
    for kind in CLEANUP_KINDS:
        async with database.transaction() as transaction:
            await transaction.extend_timeout()
            finding = _Finding(transaction, owner, kind, CleanupLimits())
            found, cursor = await finding.find(None, COUNT_READ_MAX, COUNT_READ_MAX)
            counted.append((kind, len(found), cursor is None))
    parameters: dict[str, Any] = {
        "owner": owner,
        "kinds": [kind for kind, _, _ in counted],
        "memory_counts": [count for _, count, _ in counted],
        "are_complete": [is_complete for _, _, is_complete in counted],
    }
    async with database.transaction() as transaction:
        await transaction.execute("cleanup.save_counts", parameters)


def _parse_cursor(kind: CleanupKind, after: object) -> _Cursor | None:
    if after is None:
        return None
    section, _, after_id = after.partition(",") if isinstance(after, str) else ("", "", "")
    if section not in _SECTIONS[kind]:
        raise InvalidInputError("after must be the `next_after` of a page of the same kind.")
    return _Cursor(section, check_id("after", after_id) if after_id else None)
