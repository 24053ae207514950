"""Texts of documents that are ingested in the background.

Storing a text and adding the job that ingests it is one transaction: from then on the document cannot get
lost. `documents/ingestion.py` is what the job does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.json_value import as_jsonb_object
from mnemic.documents.isolated_reading import ReadDocument
from mnemic.documents.reference_documents import TITLE_MAX_CHARACTERS, get_document
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.jobs.queue import enqueue
from mnemic.types.checks import check_id, check_text
from mnemic.types.document import DocumentChunk, Ingestion
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope, check_name
from mnemic.types.tags import check_tags

INGEST_JOB = "documents.ingest"
CHUNK_INDEX_MAX = 1 << 31


@dataclass(frozen=True)
class SourceDocument:
    """A document with its text, as the ingestion job reads it."""

    document_id: UUID
    owner: str
    name: str
    version: int
    metadata: dict[str, Any]
    process: str
    channel: str
    tags: tuple[str, ...]
    text: str
    sections: str
    """JSON; this process does not parse it."""


async def store_source(
    database: TenantDatabase,
    scope: Scope,
    name: str,
    reading: ReadDocument,
    *,
    media_type: str,
    title: str | None,
    tags: Sequence[str],
    metadata: Mapping[str, Any],
) -> Ingestion:
    """Store the text of a document and enqueue its ingestion; does nothing if the text is the same."""
    title = check_text("title", title, max_characters=TITLE_MAX_CHARACTERS) if title is not None else None
    entry = {
        "owner": scope.require_owner(),
        "name": check_name("name", name),
        "title": title or (reading.title[:TITLE_MAX_CHARACTERS] if reading.title else None),
        "metadata": as_jsonb_object("metadata", metadata),
        "content_hash": sha256(f"{media_type}\n{reading.text}".encode()).digest(),
        "character_count": len(reading.text),
        "process": scope.process,
        "whole_id": None,
        "channel": scope.channel,
        "tags": list(check_tags(tags)),
        "media_type": media_type,
        "content": reading.text,
        "sections": reading.sections,
    }
    await database.run(lambda transaction: _store(transaction, entry))
    return await read_ingestion(database, scope, name)


async def read_ingestion(database: TenantDatabase, scope: Scope, name: str) -> Ingestion:
    """The state of a document's ingestion; NotFoundError if the document was not ingested."""
    document = await get_document(database, scope, name)
    async with database.transaction() as transaction:
        row = await transaction.one("ingest.get", {"owner": document.owner, "name": name})
    if not row["is_ingested"]:
        raise NotFoundError(f"The document {name!r} was put, not ingested: it is complete.")
    is_complete = row["ingested_version"] == row["version"]
    return Ingestion(document, row["media_type"], is_complete, row["chunk_count"], row["job_id"])


async def list_chunks(
    database: TenantDatabase, scope: Scope, name: str, *, memory_id: UUID | None, after: int, limit: int
) -> list[DocumentChunk]:
    """The chunks of an ingested document in order, after the chunk index `after`."""
    ingestion = await read_ingestion(database, scope, name)
    parameters = {
        "document_id": ingestion.document.document_id,
        "memory_id": check_id("memory_id", memory_id) if memory_id is not None else None,
        "after": _check_index(after),
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        rows = await transaction.rows("ingest.chunks", parameters)
    return [DocumentChunk(**{**row, "headings": tuple(row["headings"])}) for row in rows]


async def read_source_document(database: TenantDatabase, document_id: UUID) -> SourceDocument | None:
    """A document with its text; None if it was deleted."""
    async with database.transaction() as transaction:
        row = await transaction.first("ingest.source", {"document_id": document_id})
    if row is None:
        return None
    return SourceDocument(
        document_id=row["document_id"],
        owner=row["owner"],
        name=row["name"],
        version=row["version"],
        metadata=row["metadata"],
        process=row["process"],
        channel=row["channel"],
        tags=tuple(row["tags"]),
        text=row["content"],
        sections=row["sections"],
    )


async def _store(transaction: Transaction, entry: Mapping[str, Any]) -> None:
    await transaction.one("documents.lock", entry)
    before = await transaction.first("ingest.get", entry)
    if before is not None and not before["is_ingested"]:
        raise ConflictError(
            f"The document {entry['name']!r} was put, not ingested. Put its new text, or delete it first."
        )
    document_id = before["document_id"] if before is not None else None
    if before is None or bytes(before["content_hash"]) != entry["content_hash"]:
        row = await transaction.one("documents.put", {**entry, "tenant_id": transaction.tenant.id})
        document_id = row["document_id"]
        source = {**entry, "tenant_id": transaction.tenant.id, "document_id": document_id}
        await transaction.execute("ingest.put_source", source)
    elif await _is_done_or_queued(transaction, before):
        return
    # The payload has no version: a job always ingests the newest one.
    job = await enqueue(transaction, INGEST_JOB, {"document_id": str(document_id)}, owner=entry["owner"])
    await transaction.execute("ingest.set_job", {"document_id": document_id, "job_id": job.job_id})


async def _is_done_or_queued(transaction: Transaction, before: Row) -> bool:
    """Whether all chunks of this version are stored, or a job that has not ended will store them."""
    if before["ingested_version"] == before["version"]:
        return True
    row = await transaction.one("ingest.has_job", {"job_id": before["job_id"]})
    return bool(row["has_job"])


def _check_index(after: object) -> int:
    if isinstance(after, bool) or not isinstance(after, int) or not -1 <= after < CHUNK_INDEX_MAX:
        raise InvalidInputError("after must be the chunk_index of a chunk, or -1 to start at the first.")
    return after
