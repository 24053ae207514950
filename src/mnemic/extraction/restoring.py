"""Statements come back when the evidence against them goes, and give way again when it returns.

A contradiction supersedes a statement because another one was said. If the turn in which it was said is
forgotten, nothing speaks against the older value any more: it becomes active, with the validity that it had
before, unless a third statement that is active contradicts it; then that one supersedes it instead. If the
turn is restored, what it replaced is superseded again.

States of a statement: *superseded* by a contradiction → *restored*, when the statement that replaced it is
forgotten → *superseded* again, when that one or a newer one is restored and nobody has changed the statement
meanwhile. What a person or the curator superseded stays superseded: it was decided, not concluded. Statements
that a person lets stand beside each other are not compared.

All of it is in the change log, as changesets of the purpose `contradiction`. Running it twice changes
nothing.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ChangeConflictError
from mnemic.extraction.contradictions import NewStatement, gives_way, read_rivals, superseded
from mnemic.extraction.protocol import ProposedStatement
from mnemic.record.changesets import MemoryChange, stage_and_apply
from mnemic.types.scope import Scope

PAGE = 500
PROCESS = "mind.consolidate"
_FIRST_ID = UUID(int=0)


async def follow_forgetting(database: TenantDatabase, scope: Scope, memory_id: UUID) -> None:
    """Restore what was superseded by a memory that was just forgotten, or by statements that rest on it."""
    await _follow(database, scope, "restoring.replaced_by", memory_id)


async def follow_restoring(database: TenantDatabase, scope: Scope, memory_id: UUID) -> None:
    """Supersede again what a memory that was just restored, or statements that rest on it, had superseded."""
    await _follow(database, scope, "restoring.resting_on", memory_id)


async def _follow(database: TenantDatabase, scope: Scope, name: str, memory_id: UUID) -> None:
    parameters = {"owner": scope.require_owner(), "memory_id": memory_id}
    async with database.transaction() as transaction:
        rows = await transaction.rows(name, parameters)
    if rows:
        await _try(database, partial(_settle, scope=scope, ids=[row["memory_id"] for row in rows]))


async def _try(database: TenantDatabase, work: Callable[[Transaction], Awaitable[int]]) -> int:
    """Do the work; if somebody changes one of the statements at this moment, the next pass looks again."""
    try:
        return await database.run(work)
    except ChangeConflictError:
        return 0


async def restore_replaced(database: TenantDatabase, owner: str | None = None) -> int:
    """Restore everything that only forgotten statements replaced, of one owner or all; returns how many."""
    count, after = 0, ("", _FIRST_ID)
    while True:
        parameters = {"owner": owner, "after_owner": after[0], "after_id": after[1], "limit": PAGE}
        async with database.transaction() as transaction:
            rows = await transaction.rows("restoring.all_replaced", parameters)
        ids = defaultdict(list)
        for row in rows:
            ids[row["owner"]].append(row["memory_id"])
        for name, found in ids.items():
            work = partial(_settle, scope=Scope(name, "_global", PROCESS), ids=found)
            count += await _try(database, work)
        if len(rows) < PAGE:
            return count
        after = (rows[-1]["owner"], rows[-1]["memory_id"])


async def _settle(transaction: Transaction, scope: Scope, ids: Sequence[UUID]) -> int:
    """Restore those of these statements that nothing replaces any more; then compare the active ones."""
    await transaction.one("statements.lock_owner", {"owner": scope.require_owner()})
    parameters = {"owner": scope.require_owner(), "ids": list(ids)}
    rows = await transaction.rows("restoring.restorable", parameters)
    channels = {row["memory_id"]: row["channel"] for row in rows}
    count = await _apply(transaction, scope, [_restored(row) for row in rows], channels)
    await _compare(transaction, scope, await transaction.rows("restoring.active", parameters))
    return count


async def _compare(transaction: Transaction, scope: Scope, rows: Sequence[Row]) -> None:
    """Supersede the older one of two statements that contradict each other, if one of them was restored."""
    pairs = await read_rivals(transaction, scope, [_statement(row) for row in rows])
    ids = {each.memory_id for own, rivals in pairs for each in (own, *rivals)}
    parameters = {"owner": scope.require_owner(), "ids": sorted(ids)}
    restored = {row["memory_id"] for row in await transaction.rows("restoring.restored", parameters)}
    channels = {row["memory_id"]: row["channel"] for row in rows}
    changes: dict[UUID, MemoryChange] = {}
    for own, rivals in sorted(pairs, key=lambda pair: pair[0].age):
        for rival in rivals:
            if restored.isdisjoint((own.memory_id, rival.memory_id)):
                continue
            same = replace(own, is_same_value=rival.is_same_value)
            older, newer = sorted((same, rival), key=lambda each: each.age)
            if changes.keys().isdisjoint((older.memory_id, newer.memory_id)) and gives_way(older, newer):
                changes[older.memory_id] = superseded(older, newer, "A newer statement says otherwise.")
                channels[older.memory_id] = channels[own.memory_id]
    await _apply(transaction, scope, list(changes.values()), channels)


async def _apply(
    transaction: Transaction, scope: Scope, changes: Sequence[MemoryChange], channels: Mapping[UUID, str]
) -> int:
    """One changeset for each channel."""
    by_channel: dict[str, list[MemoryChange]] = defaultdict(list)
    for change in changes:
        by_channel[channels[change.memory_id]].append(change)
    for channel, found in by_channel.items():
        await stage_and_apply(
            transaction,
            replace(scope, channel=channel),
            found,
            purpose="contradiction",
            reason="Statements that replaced others were forgotten or restored.",
        )
    return len(changes)


def _statement(row: Row) -> NewStatement:
    """A stored statement, for comparing it with others."""
    proposal = ProposedStatement(
        source_id=row["memory_id"],
        quotation="",
        statement="",
        subject=row["subject"],
        attribute=row["attribute"],
        value=row["value"],
        is_negated=row["is_negated"],
    )
    return NewStatement(row["memory_id"], proposal, is_new=False)


def _restored(row: Row) -> MemoryChange:
    return MemoryChange(
        row["memory_id"],
        "restore",
        {"status": "active", "superseded_by": None, "valid_to": row["valid_to"]},
        "What replaced it was forgotten.",
        evidence=tuple(row["replaced_by"]),
    )
