"""A small call that needs nothing but its rows is one statement, and a transaction by itself.

Most calls are that: a fact, a turn of a conversation. It carries a signature instead of a proof
(docs/adr/0017-statements-that-carry-their-signature.md). The database sees whether there is more to do after
all: a duplicate to reinforce, names to be mentioned, another model that serves. Then it has stored nothing,
and `write` does everything, as it does for all other calls. After a duplicate it is told first what is known.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from psycopg.errors import InsufficientPrivilege, UndefinedTable

from mnemic.db.database import LOST_RACES, TenantDatabase, Transaction
from mnemic.db.vectors import table_name_of, with_vectors
from mnemic.errors import MnemicError
from mnemic.retain.outcomes import Outcomes, stored_as
from mnemic.retain.plan import Conversation, Plan
from mnemic.retain.recognise import recognise_in
from mnemic.retain.rows import kept, rows_of, storing, vectors_of
from mnemic.retain.spool import Batch
from mnemic.sql import query
from mnemic.types.retained import Retained

# After these the statement has left nothing, and a transaction may do better: it begins again after a lost
# race, does not need to meet the same server process again, as a signature does, and makes a model's table.
FOR_A_TRANSACTION = (*LOST_RACES, InsufficientPrivilege, UndefinedTable)

Outcome = Literal["stored", "known", "more"]
"""The result of `mnemic.retain_in_one_statement`, which explains them."""

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


async def write_alone(database: TenantDatabase, plan: Plan, batch: Batch, log_row: LogRow | None) -> Outcome:
    """Write the batch and the row of the log, if that is all there is to do."""
    turns = {
        draft.index: number
        for number, draft in enumerate(draft for draft in batch.drafts if draft.item.conversation is not None)
    }
    positions = {draft.index: turns.get(draft.index) for draft in batch.drafts}
    rows = {draft.index: rows_of(draft) for draft in batch.drafts}
    table_name = table_name_of(plan.model)
    parameters = {
        **storing(database.tenant.id, plan, batch.drafts, rows, positions),
        **vectors_of(batch, batch.drafts),
        "row_count": plan.chunk_count,
        "dimensions": plan.dimensions,
        "vector_table": table_name,
        **_conversation(plan),
        **_logged(log_row),
    }
    statement = with_vectors(query("retain.alone"), table_name)
    try:
        row = await database.signed_row_of(statement, parameters, hints={"events"})
    except MnemicError as error:
        if isinstance(error.__cause__, FOR_A_TRANSACTION):
            return "more"
        raise
    outcome: Outcome = row["outcome"]
    return outcome


async def without_known(transaction: Transaction, plan: Plan, batch: Batch) -> tuple[Plan, Batch]:
    """The same call, with what is known by now among the duplicates: it is not stored in vain once more."""
    recognised = await recognise_in(transaction, plan.owner, batch.drafts)
    _, vectors = kept(batch, recognised.new)
    rest = replace(
        batch,
        drafts=recognised.new,
        vectors=vectors if recognised.new else None,
        duplicates=recognised.duplicates,
        refused=recognised.refused,
    )
    lesser = Plan(plan.scope, plan.model)
    lesser.add(rest)
    return lesser, rest


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
