"""Outdated memories: marks that a newer memory of the same owner gives another value of the same attribute.

A mark is *found* by comparing a new memory with its neighbours, and with all memories that have the words of
its frame (`text_analysis/outdating.py`), or because a statement that it makes was superseded; or *decided*
by a caller: *outdated* confirms or sets it, *current* says that it is wrong. Decisions are never overwritten
by comparing. Nothing is deleted or hidden: recall ranks the newer memory above the older one. Only memories
of one channel are compared, so that a mark reveals nothing about other channels; and those of a branch with
those of the channels that it reads.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.text_analysis.outdating import Near, Outdated, Stated, find_outdated, find_replaced
from mnemic.text_analysis.statements import STATEMENT_MAX_CHARACTERS, read_statement
from mnemic.types.scope import Scope

STATEMENT_MAX_BYTES = 4 * STATEMENT_MAX_CHARACTERS
NEIGHBOURS_MAX = 30
"""Neighbours of each memory that are read: the nearest are compared, all show which names are rare."""

REASON_OF_STATEMENTS = "A newer statement gives another value."
"""Also in `sql/definitions/statements/follow_status.sql`, which removes these marks."""
CERTAINTY_OF_STATEMENTS = 0.9

SAME_WORDS_MAX = 50
"""Memories with the words of a frame that are read, the newest ones."""

OutdatedDecision = Literal["outdated", "current"]


@dataclass(frozen=True, slots=True)
class OutdatedMemory:
    """A memory, the newer one that outdates it, and why.

    `decision` is `found` for a mark that comparing found, `outdated` for one that a caller set. `certainty`
    lies between 0 and 1; a caller's own decision has 1.
    """

    memory_id: UUID
    outdated_by: UUID
    attribute: str | None
    reason: str
    certainty: float
    decision: str
    found_at: datetime


@dataclass(frozen=True, slots=True)
class _Channels:
    """The channel of a memory, and the channels that it reads if it is a branch."""

    channel: str
    above: tuple[str, ...]

    def compares_with(self, other: "_Channels") -> bool:
        """Whether memories of both are compared."""
        return self.channel == other.channel or self.channel in other.above or other.channel in self.above


async def mark_outdated(transaction: Transaction, owner: str, pending: Sequence[Row]) -> None:
    """Compare memories from the backlog with their neighbours and store the marks.

    `pending` are rows of `near_duplicates.pending`. Marks that comparing found earlier are replaced.
    """
    if not pending:
        return
    statements = await _read_statements(transaction, owner, pending)
    found: dict[tuple[UUID, UUID], Outdated] = {}
    for row in pending:
        for outdated in _outdated_pairs(row, statements):
            pair = (outdated.older_id, outdated.newer_id)
            if pair not in found or found[pair].certainty < outdated.certainty:
                found[pair] = outdated
        await asyncio.sleep(0)  # Reading takes CPU time: let other calls go on after each memory.
    await transaction.execute(
        "outdated_memories.remove_found", {"ids": [row["memory_id"] for row in pending]}
    )
    if found:
        await transaction.execute("outdated_memories.add", _columns(list(found.values())))
    await mark_by_statements(transaction, [row["memory_id"] for row in pending])


async def mark_by_statements(transaction: Transaction, source_ids: Sequence[UUID]) -> None:
    """Mark sources that say nothing but a statement that was superseded, by what superseded it.

    Comparing finds another wording only among the nearest neighbours; statements have no wording.
    """
    parameters = {
        "ids": list(source_ids),
        "reason": REASON_OF_STATEMENTS,
        "certainty": CERTAINTY_OF_STATEMENTS,
    }
    await transaction.execute("outdated_memories.add_of_statements", parameters)


async def decide_outdated(
    database: TenantDatabase,
    scope: Scope,
    older_id: UUID,
    newer_id: UUID,
    decision: OutdatedDecision,
    reason: str | None,
) -> None:
    """Record whether the newer memory outdates the older one, found or not."""
    if older_id == newer_id:
        raise InvalidInputError("A memory cannot outdate itself: name two memories.")
    parameters = {
        "owner": scope.require_owner(),
        "older_id": older_id,
        "newer_id": newer_id,
        "decision": decision,
        "reason": reason or "It was decided by a caller.",
    }
    async with database.transaction() as transaction:
        if not await transaction.execute("outdated_memories.decide", parameters):
            raise NotFoundError(f"There is no memory {older_id} or no memory {newer_id} of this owner.")


@dataclass(frozen=True)
class _Statements:
    """Statements by memory and by frame, each with the channels of its memory."""

    by_memory: Mapping[UUID, tuple[_Channels, Stated]]
    by_frame: Mapping[str, Sequence[tuple[_Channels, Stated]]]


async def _read_statements(transaction: Transaction, owner: str, pending: Sequence[Row]) -> _Statements:
    """The pending statements, their neighbours, and the memories that have the words of their frames."""
    ids = {row["memory_id"] for row in pending}.union(*(row["near_ids"] or () for row in pending))
    by_memory = await _statements_of(transaction, owner, ids)
    frames = [
        stated.statement.frame.words
        for row in pending
        if (found := by_memory.get(row["memory_id"])) and (stated := found[1]).statement.frame is not None
    ]
    if frames:
        parameters = {
            "owner": owner,
            "texts": frames,
            "statement_most": STATEMENT_MAX_BYTES,
            "most": SAME_WORDS_MAX,
        }
        rows = await transaction.rows("outdated_memories.with_words", parameters)
        by_memory |= await _statements_of(
            transaction, owner, {row["memory_id"] for row in rows} - by_memory.keys()
        )
    by_frame: dict[str, list[tuple[_Channels, Stated]]] = defaultdict(list)
    for channels, stated in by_memory.values():
        if (key := stated.frame_key) is not None:
            by_frame[key].append((channels, stated))
    return _Statements(by_memory, by_frame)


async def _statements_of(
    transaction: Transaction, owner: str, ids: Collection[UUID]
) -> dict[UUID, tuple[_Channels, Stated]]:
    parameters = {"owner": owner, "ids": sorted(ids), "statement_most": STATEMENT_MAX_BYTES}
    statements: dict[UUID, tuple[_Channels, Stated]] = {}
    for row in await transaction.rows("outdated_memories.statements", parameters) if ids else ():
        statement = read_statement(row["content"])
        if statement is not None:
            stated = Stated(row["memory_id"], statement, row["happened_at"], row["speaker"])
            statements[row["memory_id"]] = (_Channels(row["channel"], tuple(row["above"] or ())), stated)
    return statements


def _outdated_pairs(row: Row, statements: _Statements) -> Iterator[Outdated]:
    if row["memory_id"] not in statements.by_memory:
        return
    channels, stated = statements.by_memory[row["memory_id"]]
    if (key := stated.frame_key) is not None:
        comparable = [other for others, other in statements.by_frame[key] if channels.compares_with(others)]
        yield from find_replaced(stated, comparable)
    if row["near_ids"] is None:
        return
    neighbours = [
        Near(found[1], cosine)
        for near_id, cosine in zip(row["near_ids"], row["cosines"], strict=True)
        if (found := statements.by_memory.get(near_id)) is not None and channels.compares_with(found[0])
    ]
    yield from find_outdated(stated, neighbours, row["mean"], row["deviation"], row["compared_count"])


def _columns(found: Sequence[Outdated]) -> dict[str, Any]:
    return {
        "older_ids": [each.older_id for each in found],
        "newer_ids": [each.newer_id for each in found],
        "attributes": [each.attribute for each in found],
        "reasons": [each.reason for each in found],
        "certainties": [each.certainty for each in found],
    }
