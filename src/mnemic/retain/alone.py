"""A small call that needs nothing but its rows is one statement, and a transaction by itself.

Most calls are that: a fact, a turn of a conversation. It carries a signature instead of a proof
(docs/adr/0017-statements-that-carry-their-signature.md). The database sees whether there is more to do after
all: a duplicate to reinforce, names to be mentioned, another model that serves. Then it has stored nothing,
and `write` does everything, as it does for all other calls.
"""

from collections.abc import Mapping
from typing import Any

from psycopg.errors import InsufficientPrivilege

from mnemic.db.database import LOST_RACES, TenantDatabase
from mnemic.errors import MnemicError
from mnemic.retain.outcomes import Outcomes, stored_as
from mnemic.retain.plan import Conversation, Plan
from mnemic.retain.rows import rows_of, storing, vectors_of
from mnemic.retain.spool import Batch
from mnemic.types.retained import Retained

# After these the statement has left nothing, and a transaction may do better: it begins again after a lost
# race, and does not need to meet the same server process again, as a signature does.
FOR_A_TRANSACTION = (*LOST_RACES, InsufficientPrivilege)

LogRow = Mapping[str, Any]
"""The parameters of a row of the memory log."""


def may_be_alone(plan: Plan, batch: Batch) -> bool:
    """Whether the one batch of a call may be all that there is to do."""
    return (
        plan.is_small
        and len(plan.conversations) <= 1
        and batch.vectors is not None
        and not batch.duplicates
        and not batch.refused
        and not any(draft.item.evidence for draft in batch.drafts)
    )


def outcome_alone(batch: Batch) -> Retained:
    """What is answered if nothing else is to do."""
    outcomes = Outcomes()
    outcomes.add([stored_as(draft) for draft in batch.drafts], (), ())
    return outcomes.retained()


async def write_alone(database: TenantDatabase, plan: Plan, batch: Batch, log_row: LogRow | None) -> bool:
    """Write the batch and the row of the log, if that is all; returns whether it was done."""
    turns = {
        draft.index: number
        for number, draft in enumerate(draft for draft in batch.drafts if draft.item.conversation is not None)
    }
    positions = {draft.index: turns.get(draft.index) for draft in batch.drafts}
    rows = {draft.index: rows_of(draft) for draft in batch.drafts}
    parameters = {
        **storing(database.tenant.id, plan, batch.drafts, rows, positions),
        **vectors_of(batch, batch.drafts),
        **_conversation(plan),
        **_logged(log_row),
    }
    try:
        row = await database.signed_row("retain.alone", parameters, hints={"events"})
    except MnemicError as error:
        if isinstance(error.__cause__, FOR_A_TRANSACTION):
            return False
        raise
    is_done: bool = row["is_done"]
    return is_done


def _conversation(plan: Plan) -> dict[str, Any]:
    """The conversation that the turns of the call belong to, if it has any."""
    ((name, conversation),) = plan.conversations.items() or ((None, Conversation()),)
    return {
        "conversation": name,
        "turns": conversation.turn_count,
        "first_at": conversation.first_at,
        "last_at": conversation.last_at,
    }


def _logged(log_row: LogRow | None) -> dict[str, Any]:
    """The row of the log, but for what the memories say as well."""
    row = log_row or {}
    return {
        "is_logged": log_row is not None,
        "logged_conversation": row.get("conversation"),
        **{name: row.get(name) for name in ("operation", "memory_count", "duration_ms", "detail")},
    }
