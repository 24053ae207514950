"""Write a small call in one statement, which is a transaction by itself.

Most calls store a fact or a turn of a conversation and nothing else. One signed statement
(docs/adr/0017-statements-that-carry-their-signature.md) inserts the memories, their vectors, their positions
and the row of the log in a single round trip. If the database finds that there is more to do, for example a
duplicate to reinforce or a mention to link, the statement stores nothing and `one_transaction` writes the
call. Both use the same SQL functions and the same insert of vectors.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from psycopg.errors import InsufficientPrivilege, UndefinedTable

from mnemic.db.connection import Row
from mnemic.db.database import LOST_RACES, TenantDatabase
from mnemic.db.vectors import table_name_of, with_vectors
from mnemic.errors import MnemicError
from mnemic.retain.batches import Batch
from mnemic.retain.call_log import CallLog
from mnemic.retain.deduplicate import Deduplicated, Known, split_known
from mnemic.retain.parameters import EncodedRows, encode_rows, row_parameters, vector_parameters
from mnemic.retain.result import ResultBuilder
from mnemic.retain.write_plan import NewTurns, WritePlan
from mnemic.sql import query
from mnemic.types.retained import Retained

# Keep a failed attempt cheap.
STATEMENT_MAX_CHUNKS = 32

# These errors leave nothing behind, and a transaction may succeed: it runs again after a lost race, needs no
# signature for one server process, which a connection pooler may change, and creates a new model's table.
RETRIED_IN_TRANSACTION = (*LOST_RACES, InsufficientPrivilege, UndefinedTable)


def fits_one_statement(plan: WritePlan, batches: Iterable[Batch]) -> bool:
    """Whether one statement may be able to write a call: a small one that needs no further statements."""
    return (
        plan.batch_count == 1
        and 0 < plan.chunk_count <= STATEMENT_MAX_CHUNKS
        and len(plan.conversations) <= 1
        and all(_is_only_new(batch) for batch in batches)
    )


def _is_only_new(batch: Batch) -> bool:
    """Whether a batch has vectors, no duplicates to reinforce and no evidence to link."""
    return (
        batch.vectors is not None
        and not batch.duplicates
        and not batch.refused
        and not any(draft.item.evidence for draft in batch.drafts)
    )


async def write_in_one_statement(
    database: TenantDatabase, plan: WritePlan, batch: Batch, log: CallLog
) -> Retained | Deduplicated:
    """Write the batch and its log row, or nothing if that takes a transaction.

    Returns the result of the call, or which drafts are known, as far as the statement has found that out.
    """
    result = ResultBuilder()
    result.add(batch.drafts)
    retained = result.retained()
    table_name = table_name_of(plan.model)
    parameters = {
        **row_parameters(database.tenant.id, plan, batch.drafts, _encoded(batch), _relative_positions(batch)),
        **vector_parameters(batch, batch.drafts),
        "row_count": plan.chunk_count,
        "model": plan.model,
        "dimensions": plan.dimensions,
        "vector_table": table_name,
        **_conversation_parameters(plan),
        **_log_parameters(log.row(retained)),
    }
    statement = with_vectors(query("retain.one_statement"), table_name)
    try:
        row = await database.signed_row_of(statement, parameters, wakeups={"events"})
    except MnemicError as error:
        if isinstance(error.__cause__, RETRIED_IN_TRANSACTION):
            return Deduplicated(batch.drafts)
        raise
    return retained if row["memory_ids"] is not None else _known(batch, row)


def _known(batch: Batch, row: Row) -> Deduplicated:
    """The drafts that the statement found to be known; NULL arrays mean none."""
    index_of = {draft.chunks[0].memory_id: draft.index for draft in batch.drafts}
    known: Known = {}
    for item_id, *found in zip(
        row["item_ids"] or (), row["known_ids"] or (), row["forgotten_at"] or (), strict=True
    ):
        known.setdefault(index_of[item_id], tuple(found))
    return split_known(batch.drafts, known)


def _encoded(batch: Batch) -> EncodedRows:
    return {draft.index: encode_rows(draft) for draft in batch.drafts}


def _relative_positions(batch: Batch) -> dict[int, int | None]:
    """The position of each turn among the new turns of its conversation; None for all other drafts."""
    turns = (draft.index for draft in batch.drafts if draft.item.conversation is not None)
    return dict.fromkeys(draft.index for draft in batch.drafts) | {
        index: position for position, index in enumerate(turns)
    }


def _conversation_parameters(plan: WritePlan) -> dict[str, Any]:
    """The conversation of the turns, if there are any."""
    ((name, turns),) = plan.conversations.items() or ((None, NewTurns()),)
    return {
        "conversation": name,
        "turns": turns.count,
        "first_at": turns.first_at,
        "last_at": turns.last_at,
    }


def _log_parameters(log_row: Mapping[str, Any] | None) -> dict[str, Any]:
    """The columns of the log row that the memories do not have."""
    row = log_row or {}
    return {
        "is_logged": log_row is not None,
        "logged_conversation": row.get("conversation"),
        **{name: row.get(name) for name in ("operation", "memory_count", "duration_ms", "detail")},
    }
