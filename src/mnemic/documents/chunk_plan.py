"""Compare the chunks of a document with those that are stored, and record the changes.

A chunk is identified within its document by the hash of its content and the number of equal chunks before
it. Each transaction checks that the document still has the version that the plan was made for
(`lock_version`), so a job may be killed at any time, and a job whose document changed meanwhile stops.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.documents.reading.chunks import DocumentChunk
from mnemic.documents.sources import SourceDocument

Key = tuple[bytes, int]


class DocumentChanged(Exception):
    """The document has a newer version, or was deleted."""


@dataclass(frozen=True)
class ChunkPlan:
    """The difference between a document's chunks and the stored ones; `ids` are the stored memories."""

    missing: tuple[DocumentChunk, ...]
    moved: tuple[DocumentChunk, ...]
    relabelled: tuple[DocumentChunk, ...]
    """Chunks with other headings, or on another page."""
    context_changed: tuple[DocumentChunk, ...]
    """Chunks whose context differs from the one that was embedded with them."""
    gone: tuple[Key, ...]
    ids: Mapping[Key, UUID]


async def plan_chunks(
    database: TenantDatabase, document: SourceDocument, chunks: Sequence[DocumentChunk]
) -> ChunkPlan:
    """Compare the chunks that a document should have with the stored ones."""
    async with database.transaction() as transaction:
        rows = await transaction.rows("ingest.made", {"document_id": document.document_id})
    stored = {(bytes(row["content_hash"]), row["occurrence"]): row for row in rows}
    wanted = {key_of(chunk): chunk for chunk in chunks}
    kept = [(chunk, stored[key]) for key, chunk in wanted.items() if key in stored]
    return ChunkPlan(
        missing=tuple(chunk for key, chunk in wanted.items() if key not in stored),
        moved=tuple(chunk for chunk, row in kept if _position(chunk) != _stored_position(row)),
        relabelled=tuple(
            chunk
            for chunk, row in kept
            if (list(chunk.headings), chunk.page) != (row["headings"], row["page"])
        ),
        # Equal chunks are one memory, embedded with the context of the first.
        context_changed=tuple(
            chunk for chunk, row in kept if not chunk.occurrence and chunk.context != row["context"]
        ),
        gone=tuple(key for key in stored if key not in wanted),
        ids={key: row["memory_id"] for key, row in stored.items()},
    )


async def lock_version(transaction: Transaction, document: SourceDocument) -> None:
    """Lock the document until the transaction ends; DocumentChanged if it has another version."""
    row = await transaction.first("ingest.hold_version", {"document_id": document.document_id})
    if row is None or row["version"] != document.version:
        raise DocumentChanged


async def add_chunks(
    transaction: Transaction, document: SourceDocument, chunks: Sequence[DocumentChunk], ids: Sequence[UUID]
) -> None:
    """Record which memories are the chunks of a document."""
    rows = [
        {**_as_row(chunk), "memory_id": str(memory_id), "context": chunk.context}
        for chunk, memory_id in zip(chunks, ids, strict=True)
    ]
    parameters = {
        "tenant_id": transaction.tenant.id,
        "document_id": document.document_id,
        "owner": document.owner,
        "chunks": json.dumps(rows),
    }
    await transaction.execute("ingest.add_chunks", parameters)


async def complete(transaction: Transaction, document: SourceDocument, plan: ChunkPlan) -> None:
    """Record moved chunks, forget the memories of those that are gone, and mark the version as ingested."""
    await lock_version(transaction, document)
    key = {"document_id": document.document_id}
    if plan.moved:
        chunks = json.dumps([_as_row(chunk) for chunk in plan.moved])
        await transaction.execute("ingest.move_chunks", key | {"chunks": chunks})
    if plan.relabelled:
        relabelled = [
            {"memory_id": str(plan.ids[key_of(chunk)]), "metadata": metadata_of(document, chunk)}
            for chunk in plan.relabelled
        ]
        parameters = {"memories": json.dumps(relabelled), "name": document.name}
        await transaction.execute("ingest.describe_memories", parameters)
    if plan.gone:
        await _remove(transaction, document, plan.gone)
    await transaction.execute("ingest.complete", key | {"version": document.version})


def key_of(chunk: DocumentChunk) -> Key:
    """The identity of a chunk within its document."""
    return chunk.content_hash, chunk.occurrence


def metadata_of(document: SourceDocument, chunk: DocumentChunk) -> dict[str, Any]:
    """The metadata of a chunk's memory: its document, headings and page. Positions are kept apart."""
    metadata: dict[str, Any] = {**document.metadata, "document": document.name}
    if chunk.headings:
        metadata["headings"] = list(chunk.headings)
    if chunk.page is not None:
        metadata["page"] = chunk.page
    return metadata


async def _remove(transaction: Transaction, document: SourceDocument, gone: Iterable[Key]) -> None:
    keys = list(gone)
    parameters = {
        "document_id": document.document_id,
        "hashes": " ".join(content_hash.hex() for content_hash, _ in keys),
        "occurrences": [occurrence for _, occurrence in keys],
    }
    rows = await transaction.rows("ingest.remove_chunks", parameters)
    forgotten = {
        "ids": sorted({row["memory_id"] for row in rows}),
        "changed_by": "system",
        "reason": "document changed",
    }
    await transaction.execute("ingest.forget_chunks", forgotten)


def _as_row(chunk: DocumentChunk) -> dict[str, Any]:
    index, start, end, headings, page = _position(chunk)
    return {
        "content_hash": chunk.content_hash.hex(),
        "occurrence": chunk.occurrence,
        "chunk_index": index,
        "start_character": start,
        "end_character": end,
        "headings": headings,
        "page": page,
    }


def _position(chunk: DocumentChunk) -> tuple[int, int, int, list[str], int | None]:
    return chunk.index, chunk.start, chunk.end, list(chunk.headings), chunk.page


def _stored_position(row: Row) -> tuple[int, int, int, list[str], int | None]:
    return row["chunk_index"], row["start_character"], row["end_character"], row["headings"], row["page"]
