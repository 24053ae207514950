"""Retaining, put together: the pipeline with the embedder, the mention links and the log of this memory."""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from mnemic.db.database import Transaction
from mnemic.db.vectors import (
    ModelChanged,
    Vectors,
    insert_vectors,
    mark_for_embedding,
    open_vectors,
    remove_vectors,
)
from mnemic.embeddings.backlog import enqueue_backlog_job
from mnemic.errors import ConflictError, EmbeddingError, InvalidInputError
from mnemic.govern.memory_log import log_write, row_of_write
from mnemic.knowledge.mentions import link_mentions
from mnemic.models.embedding_text import embedded_text
from mnemic.record import memories
from mnemic.retain.items import ItemInput
from mnemic.retain.pipeline import Collaborators, DocumentEmbedder, retain
from mnemic.runtime.core import Caller, Core
from mnemic.runtime.serving_model import serving_embedder
from mnemic.types.checks import check_time
from mnemic.types.memory import MemoryRecord
from mnemic.types.retained import Retained
from mnemic.types.scope import Scope
from mnemic.types.traces import LogEntry

Wrap = Callable[[DocumentEmbedder], DocumentEmbedder]


async def retain_items(
    caller: Caller,
    items: Iterable[ItemInput],
    fields: Mapping[str, Any],
    *,
    owner: str | None = None,
    channel: str | None = None,
    and_then: Callable[[Transaction, Retained], Awaitable[None]] | None = None,
    on_progress: Callable[[int], None] = lambda count: None,
    wrap: Wrap = lambda embedder: embedder,
) -> Retained:
    """Store every item or none, in the caller's scope. `wrap` may change what of a text is embedded."""
    scope = caller.scoped(owner, channel)
    embedder = await serving_embedder(caller.core)
    with caller.core.call_metrics.call("retain") as call:
        retained = await retain(
            caller.database,
            scope,
            _collaborators(caller, scope, wrap(embedder), fields.get("conversation")),
            items,
            fields,
            and_then=and_then,
            on_progress=on_progress,
        )
        call.memory_count = retained.stored_count
    if retained.stored_count:
        # What has no vector may lack it because another model serves by now: then it is asked for again.
        caller.core.serving_model = None if retained.awaiting_embedding_count else embedder.name
    return retained


def _collaborators(
    caller: Caller, scope: Scope, embedder: DocumentEmbedder, conversation: str | None
) -> Collaborators:
    started = time.perf_counter()
    level = caller.core.settings.memory_log

    def entry(retained: Retained) -> LogEntry:
        return LogEntry(
            operation="retain",
            owner=scope.require_owner(),
            channel=scope.channel,
            process=scope.process,
            conversation=conversation,
            memory_count=retained.stored_count,
            duration_ms=(time.perf_counter() - started) * 1000,
            detail={"duplicates": retained.duplicate_count, "refused": retained.refused_count},
        )

    async def log(transaction: Transaction, retained: Retained) -> None:
        if retained.awaiting_embedding_count:
            await enqueue_backlog_job(transaction)
        await log_write(transaction, level, entry(retained))

    return Collaborators(embedder, link_mentions, lambda retained: row_of_write(level, entry(retained)), log)


async def supersede(
    caller: Caller,
    memory_id: UUID,
    content: str,
    *,
    valid_from: datetime | str | None,
    reason: str | None,
    owner: str | None,
) -> MemoryRecord:
    """Store a new memory, take the old one out of recall and link both, in one transaction."""
    scope = caller.scoped(owner)
    old = await memories.get_memory(caller.database, scope, memory_id)
    moment = check_time("valid_from", valid_from) if valid_from is not None else datetime.now(UTC)
    _check_supersedable(old, content, moment)

    async def retire(transaction: Transaction, retained: Retained) -> None:
        (new_id,) = retained.memory_ids
        valid_to = min(moment, old.valid_to or moment)
        retired = replace(old, status="superseded", superseded_by=new_id, valid_to=valid_to)
        await memories.write_change(transaction, old, retired, changed_by="user", reason=reason)
        await transaction.one(
            "memories.relate",
            {
                "owner": old.owner,
                "from_id": new_id,
                "to_id": old.memory_id,
                "kind": "supersedes",
                "confidence": 1.0,
                "process": scope.process,
            },
        )

    item = {
        "content": content,
        "category": old.category,
        "tags": old.tags,
        "valid_from": moment,
        "name": old.name,
    }
    if old.category == "episodic":
        item["category"] = "factual"  # A turn is what was said; what replaces it is what is so.
    retained = await retain_items(caller, [item], {}, owner=owner, channel=old.channel, and_then=retire)
    return await memories.get_memory(caller.database, scope, retained.memory_ids[0])


def _check_supersedable(old: MemoryRecord, content: str, moment: datetime) -> None:
    if old.superseded_by is not None:
        raise ConflictError(
            f"The memory {old.memory_id} is superseded already: supersede {old.superseded_by}, which took "
            "its place."
        )
    if old.content == content:
        raise InvalidInputError("The new content is the same as the old one: there is nothing to supersede.")
    if old.valid_from is not None and moment <= old.valid_from:
        raise InvalidInputError("valid_from must be after the valid_from of the memory that is superseded.")


def reembed(caller: Caller) -> memories.Reembed:
    """How a memory gets a new vector and new mentions when its words change.

    A failing embedder marks it for later.
    """

    async def prepare(record: MemoryRecord) -> Callable[[Transaction], Awaitable[None]]:
        embedder = await serving_embedder(caller.core)
        text = embedded_text(record.name, record.content)
        try:
            vectors = await embedder.embed_documents([text])
            failure = None
        except EmbeddingError as error:
            failure = str(error)

        async def put(transaction: Transaction) -> None:
            await remove_vectors(transaction, [record.memory_id])
            if failure is not None:
                await _leave_for_later(transaction, record.memory_id, failure)
            else:
                await _put_vector(transaction, caller.core, embedder.name, record, vectors)
            await transaction.execute(
                "memories.unlink_mentions", {"owner": record.owner, "memory_id": record.memory_id}
            )
            await link_mentions(transaction, record.owner, [(record.memory_id, record.content)])

        return put

    return prepare


async def _put_vector(
    transaction: Transaction, core: Core, model: str, record: MemoryRecord, vectors: Vectors
) -> None:
    """Store the vector of a memory, which then waits for none; or leave it to the model that serves."""
    try:
        table = await open_vectors(transaction, model, vectors.shape[1])
    except ModelChanged as change:
        core.serving_model = change.model
        await _leave_for_later(transaction, record.memory_id, str(change))
        return
    await insert_vectors(transaction, table, [record.memory_id], [record.owner], vectors)
    await transaction.execute("vectors.clear_backlog", {"ids": [record.memory_id]})


async def _leave_for_later(transaction: Transaction, memory_id: UUID, reason: str) -> None:
    await mark_for_embedding(transaction, [memory_id], reason)
    await enqueue_backlog_job(transaction)
