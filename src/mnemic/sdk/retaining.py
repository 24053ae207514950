"""Retaining, put together: the pipeline with the embedder, the mention links and the log of this memory."""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.db.vectors import (
    Vectors,
    insert_vectors,
    mark_for_embedding,
    open_vectors,
    remove_vectors,
)
from mnemic.errors import ConflictError, EmbeddingError, InvalidInputError
from mnemic.govern.memory_log import log_write
from mnemic.mind.mentions import link_mentions
from mnemic.record import memories
from mnemic.retain.items import ItemInput
from mnemic.retain.pipeline import Collaborators, embedded_text, retain
from mnemic.sdk.core import Caller
from mnemic.types.checks import check_time
from mnemic.types.memory import MemoryRecord
from mnemic.types.retained import Retained
from mnemic.types.scope import Scope
from mnemic.types.traces import LogEntry

EMBED_BATCH = 256


async def retain_items(
    caller: Caller,
    items: Iterable[ItemInput],
    fields: Mapping[str, Any],
    *,
    owner: str | None = None,
    channel: str | None = None,
    and_then: Callable[[Transaction, Retained], Awaitable[None]] | None = None,
    on_progress: Callable[[int], None] = lambda count: None,
) -> Retained:
    """Store every item or none, in the caller's scope."""
    scope = caller.scoped(owner, channel)
    return await retain(
        caller.database,
        scope,
        _collaborators(caller, scope, fields.get("conversation")),
        items,
        fields,
        and_then=and_then,
        on_progress=on_progress,
    )


def _collaborators(caller: Caller, scope: Scope, conversation: str | None) -> Collaborators:
    started = time.perf_counter()

    async def log(transaction: Transaction, retained: Retained) -> None:
        entry = LogEntry(
            operation="retain",
            owner=scope.require_owner(),
            channel=scope.channel,
            process=scope.process,
            conversation=conversation,
            memory_count=retained.stored_count,
            duration_ms=(time.perf_counter() - started) * 1000,
            detail={"duplicates": retained.duplicate_count, "refused": retained.refused_count},
        )
        await log_write(transaction, caller.core.settings.memory_log, entry)

    return Collaborators(caller.core.embedder, link_mentions, log)


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
    embedder = caller.core.embedder

    async def prepare(record: MemoryRecord) -> Callable[[Transaction], Awaitable[None]]:
        try:
            vectors = await embedder.embed_documents([embedded_text(record.name, record.content)])
            failure = None
        except EmbeddingError as error:
            failure = str(error)

        async def put(transaction: Transaction) -> None:
            await remove_vectors(transaction, [record.memory_id])
            if failure is not None:
                await mark_for_embedding(transaction, [record.memory_id], failure)
            else:
                await _put_vectors(transaction, embedder.name, [record.memory_id], [record.owner], vectors)
            await transaction.execute(
                "memories.unlink_mentions", {"owner": record.owner, "memory_id": record.memory_id}
            )
            await link_mentions(transaction, record.owner, [(record.memory_id, record.content)])

        return put

    return prepare


async def embed_backlog(caller: Caller, *, on_progress: Callable[[int], None] = lambda count: None) -> int:
    """Embed what was stored without a vector, until nothing is left; returns how many there were.

    EmbeddingError ends it; what was done until then is kept, the rest stays marked.
    """
    done = 0
    while True:
        async with caller.database.transaction() as transaction:
            rows = await transaction.rows("vectors.backlog", {"limit": EMBED_BATCH})
        if not rows:
            return done
        texts = [embedded_text(row["name"], row["content"]) for row in rows]
        vectors = await caller.core.embedder.embed_documents(texts)
        done += await caller.database.run(_make_up(caller.core.embedder.name, rows, vectors))
        on_progress(done)


def _make_up(model: str, rows: list[Row], vectors: Vectors) -> Callable[[Transaction], Awaitable[int]]:
    """Store the vectors of memories whose words are still the ones that were embedded; counts them."""
    versions = {"ids": [row["memory_id"] for row in rows], "versions": [row["version"] for row in rows]}

    async def store(transaction: Transaction) -> int:
        unchanged = {row["memory_id"] for row in await transaction.rows("vectors.unchanged", versions)}
        keep = [place for place, row in enumerate(rows) if row["memory_id"] in unchanged]
        kept = [rows[place] for place in keep]
        if kept:
            ids, owners = [row["memory_id"] for row in kept], [row["owner"] for row in kept]
            await _put_vectors(transaction, model, ids, owners, vectors[keep])
        return len(kept)

    return store


async def _put_vectors(
    transaction: Transaction, model: str, ids: list[UUID], owners: list[str], vectors: Vectors
) -> None:
    """Store vectors of memories, which then wait for none any more."""
    table = await open_vectors(transaction, model, vectors.shape[1])
    await insert_vectors(transaction, table, ids, owners, vectors)
    await transaction.execute("vectors.clear_backlog", {"ids": ids})
