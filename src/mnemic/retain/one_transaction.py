"""Write the batches of a call in one transaction.

The transaction runs again from the start if it loses a race against another one, so nothing here keeps state
between two runs.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.errors import SerializationFailure

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.db.vectors import ModelChanged, VectorTable, mark_for_embedding, open_vectors, with_vectors
from mnemic.embeddings.backlog import enqueue_backlog_job
from mnemic.knowledge.mentions import link_mentions
from mnemic.retain.batches import Batch
from mnemic.retain.call_log import CallLog
from mnemic.retain.deduplicate import deduplicate_in, has_identity, reinforce
from mnemic.retain.evidence import link_evidence
from mnemic.retain.items import Draft
from mnemic.retain.parameters import EncodedRows, encode_rows, row_parameters, vector_parameters
from mnemic.retain.positions import Positions, release_positions, reserve_positions
from mnemic.retain.prefetch import in_steps, prefetched
from mnemic.retain.result import ResultBuilder
from mnemic.retain.write_plan import WritePlan
from mnemic.sql import query
from mnemic.types.retained import Duplicate, Refused, Retained

AndThen = Callable[[Transaction, Retained], Awaitable[None]]
"""Further work in the transaction of a call, after its items are stored."""


async def write_in_one_transaction(
    transaction: Transaction,
    plan: WritePlan,
    batches: Iterable[Batch],
    log: CallLog,
    and_then: AndThen | None,
) -> Retained:
    """Store every batch, link evidence and mentions, reinforce duplicates, and log the call."""
    await _lock_owner_for_large_call(transaction, plan)
    # Before any row is locked: the first call with a model creates its table and waits for all writers.
    open_table = await _open_table(transaction, plan)
    positions = await reserve_positions(transaction, plan)
    result = ResultBuilder()
    with_rows = _with_encoded_rows(batches)
    async with prefetched(with_rows) if plan.batch_count > 1 else aclosing(with_rows) as encoded:
        async for batch, rows in encoded:
            table = open_table if batch.vectors is not None else None
            stored = await _store(transaction, plan, batch, rows, positions, table)
            if table is None:
                result.awaiting_embedding_count += await _await_embedding(transaction, plan, batch, stored)
            await link_evidence(transaction, plan.scope, stored.drafts)
            if stored.owner_has_names:
                await link_mentions(transaction, plan.owner, stored.texts)
            duplicates = (*batch.duplicates, *stored.duplicates)
            await reinforce(transaction, duplicates)
            result.add(stored.drafts, duplicates, (*batch.refused, *stored.refused))
    await release_positions(transaction, plan, positions)
    retained = result.retained()
    if and_then is not None:
        await and_then(transaction, retained)
    if retained.awaiting_embedding_count:
        await enqueue_backlog_job(transaction)
    await log.write(transaction, retained)
    return retained


@dataclass(frozen=True)
class _StoredBatch:
    """The drafts of a batch after storing: which are new, and which the owner had already."""

    drafts: Sequence[Draft]
    duplicates: Sequence[Duplicate]
    refused: Sequence[Refused]
    owner_has_names: bool

    @property
    def texts(self) -> list[tuple[UUID, str]]:
        """The id and content of every new memory."""
        return [(chunk.memory_id, chunk.content) for draft in self.drafts for chunk in draft.chunks]


async def _lock_owner_for_large_call(transaction: Transaction, plan: WritePlan) -> None:
    """Let calls of several batches run one after the other, owner by owner.

    Rows are inserted in a fixed order within a batch, which avoids deadlocks between calls of one batch.
    Calls of several batches have no common order and would keep deadlocking each other.
    """
    if plan.batch_count > 1:
        await transaction.extend_timeout()
        await transaction.one("retain.lock_owner", {"owner": plan.owner})
        await transaction.reset_timeout()


async def _open_table(transaction: Transaction, plan: WritePlan) -> VectorTable | None:
    """The vector table of the model; None if there are no vectors or another model serves by now."""
    if plan.dimensions is None:
        return None
    try:
        return await open_vectors(transaction, plan.model, plan.dimensions)
    except ModelChanged:
        return None


async def _with_encoded_rows(batches: Iterable[Batch]) -> AsyncGenerator[tuple[Batch, EncodedRows]]:
    for batch in batches:
        yield batch, {draft.index: encode_rows(draft) async for draft in in_steps(batch.drafts)}


async def _store(
    transaction: Transaction,
    plan: WritePlan,
    batch: Batch,
    rows: EncodedRows,
    positions: Positions,
    table: VectorTable | None,
) -> _StoredBatch:
    """Insert the drafts that are still new, each with all its chunks, and their vectors into `table`."""
    # Turns with an external id are looked up again: a position given to a duplicate would leave a gap.
    turns = [draft for draft in batch.drafts if draft.item.conversation is not None and has_identity(draft)]
    known = await deduplicate_in(transaction, plan.scope, turns)
    known_indexes = known.known_indexes
    unknown = [draft for draft in batch.drafts if draft.index not in known_indexes]
    distinct = _distinct(unknown)
    stored_ids, owner_has_names = set[UUID](), False
    if distinct:
        assigned = {draft.index: positions.take(draft) for draft in distinct}
        parameters = row_parameters(transaction.tenant.id, plan, distinct, rows, assigned)
        row = await _insert(transaction, parameters, batch, distinct, table)
        stored_ids, owner_has_names = set(row["memory_ids"]), row["has_names"]
    conflicting = [draft for draft in unknown if draft.chunks[0].memory_id not in stored_ids]
    late = await deduplicate_in(transaction, plan.scope, conflicting)
    if late.new:
        # The memory that the insert conflicted with was forgotten since. `TenantDatabase.run` runs again.
        raise SerializationFailure("an item is neither new nor known")
    return _StoredBatch(
        [draft for draft in distinct if draft.chunks[0].memory_id in stored_ids],
        known.duplicates + late.duplicates,
        known.refused + late.refused,
        owner_has_names,
    )


async def _insert(
    transaction: Transaction,
    parameters: dict[str, Any],
    batch: Batch,
    drafts: Sequence[Draft],
    table: VectorTable | None,
) -> Row:
    if table is None:
        return await transaction.one("retain.store", {**parameters, "is_changing_model": False})
    statement = with_vectors(query("retain.store"), table.name)
    vectors = vector_parameters(batch, drafts)
    values = {**parameters, **vectors, "is_changing_model": table.next_name is not None}
    cursor = await transaction.connection.execute(statement, values)
    (row,) = await cursor.fetchall()
    return row


def _distinct(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts without those that repeat the external id or the content of an earlier one."""
    seen: set[str | bytes | None] = set()
    distinct = []
    for draft in drafts:
        identity = {draft.item.external_id, draft.chunks[0].content_hash} - {None}
        if seen.isdisjoint(identity):
            distinct.append(draft)
            seen |= identity
    return distinct


async def _await_embedding(
    transaction: Transaction, plan: WritePlan, batch: Batch, stored: _StoredBatch
) -> int:
    """Mark the new memories as lacking a vector; returns how many."""
    ids = [memory_id for memory_id, _ in stored.texts]
    if ids:
        error = batch.embedding_error or f"{plan.model} was replaced by another model meanwhile."
        await mark_for_embedding(transaction, ids, error)
    return len(ids)
