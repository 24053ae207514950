"""Feedback: whether a memory that was recalled was useful.

A conversation has one verdict on a memory, the last one that it gave, so repeating it changes nothing.
Calls that name no conversation share one verdict. The database counts the verdicts beside the recall counts,
and computes usefulness and salience from them when a memory is read (`mnemic.usefulness`, `mnemic.salience`).

An owner gives feedback on its own memories only. The reader of a grant gives none: its opinion would change
what the giver and other readers recall.
"""

from uuid import UUID

from mnemic.db.database import TenantDatabase
from mnemic.errors import NotFoundError
from mnemic.record.memories import get_memory
from mnemic.types.feedback import Feedback, FeedbackKind
from mnemic.types.memory import MemoryRecord
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope

VERDICTS_MAX = 1_000
"""Verdicts of a memory that are kept, the newest: invented conversations must not fill the table."""


async def give_feedback(
    database: TenantDatabase,
    scope: Scope,
    memory_id: UUID,
    kind: FeedbackKind,
    *,
    conversation: str | None,
    note: str | None,
) -> MemoryRecord:
    """Store the verdict of a conversation and return the memory with its new usefulness and salience."""
    parameters = {
        "owner": scope.require_owner(),
        "memory_id": memory_id,
        "kind": kind,
        "conversation": conversation,
        "note": note,
        "process": scope.process,
        "most": VERDICTS_MAX,
    }
    async with database.transaction() as transaction:
        row = await transaction.one("feedback.give", parameters)
    if not row["is_given"]:
        raise NotFoundError(
            f"There is no memory {memory_id} of this owner. Feedback on memories of others, which a grant "
            "lets the owner recall, is not accepted."
        )
    return await get_memory(database, scope, memory_id)


async def list_feedback(
    database: TenantDatabase, scope: Scope, memory_id: UUID | None, *, before: UUID | None, limit: int
) -> list[Feedback]:
    """The feedback of the owner, or on one memory, newest first."""
    parameters = {
        "owner": scope.require_owner(),
        "memory_id": memory_id,
        "before": before,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [Feedback(**row) for row in await transaction.rows("feedback.list", parameters)]
