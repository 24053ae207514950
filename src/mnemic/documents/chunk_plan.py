"""Documents that are ingested: keeping their text, and comparing it with the chunks that are there.

A document is *filed* in one transaction with the job that ingests it: from then on it cannot get lost. The
job cuts the text into chunks and compares them with those in `state.document_chunks` (`plan`): some are
*missing*, some are *there*, some of these stand elsewhere or behind other words, some are *gone*. It does
what is left to do, batch by batch, and each batch checks that the document still has the version that it was
made for (`hold_version`). So a job can be killed at any time, and one that is overtaken by a newer version of
its document stops.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.json_value import as_jsonb_object
from mnemic.documents.reading.chunks import Chunk
from mnemic.documents.reading.text import Reading, Section
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

Key = tuple[bytes, int]


class Overtaken(Exception):
    """The document has another version by now, or is gone."""


@dataclass(frozen=True)
class SourceDocument:
    """A document as its job sees it."""

    document_id: UUID
    owner: str
    name: str
    version: int
    metadata: dict[str, Any]
    process: str
    channel: str
    tags: tuple[str, ...]
    reading: Reading


@dataclass(frozen=True)
class Plan:
    """What is left to do until a document's chunks are all there; `ids` are the memories of the others."""

    missing: tuple[Chunk, ...]
    moved: tuple[Chunk, ...]
    renamed: tuple[Chunk, ...]
    """Those that stand under other headings, or on another page."""
    behind_others: tuple[Chunk, ...]
    """Those that stand behind other words than when they were embedded."""
    gone: tuple[Key, ...]
    ids: Mapping[Key, UUID]


async def file_source(
    database: TenantDatabase,
    scope: Scope,
    name: str,
    reading: Reading,
    *,
    media_type: str,
    title: str | None,
    tags: Sequence[str],
    metadata: Mapping[str, Any],
) -> Ingestion:
    """Keep the text of a document and have a job ingest it; nothing is done if it has that text already."""
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
        "sections": Jsonb([[section.start, section.headings, section.page] for section in reading.sections]),
    }
    await database.run(lambda transaction: _file(transaction, entry))
    return await read_ingestion(database, scope, name)


async def read_ingestion(database: TenantDatabase, scope: Scope, name: str) -> Ingestion:
    """How far the ingestion of a document has come; NotFoundError if it was not ingested."""
    document = await get_document(database, scope, name)
    async with database.transaction() as transaction:
        row = await transaction.one("ingest.get", {"owner": document.owner, "name": name})
    if not row["is_ingested"]:
        raise NotFoundError(f"The document {name!r} was put, not ingested: it is all there.")
    is_complete = row["ingested_version"] == row["version"]
    return Ingestion(document, row["media_type"], is_complete, row["chunk_count"], row["job_id"])


async def list_chunks(
    database: TenantDatabase, scope: Scope, name: str, *, memory_id: UUID | None, after: int, limit: int
) -> list[DocumentChunk]:
    """The chunks of an ingested document in their order, from the one behind `after` on."""
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
    """A document with its text; None if it is gone."""
    async with database.transaction() as transaction:
        row = await transaction.first("ingest.source", {"document_id": document_id})
    if row is None:
        return None
    sections = tuple(Section(start, tuple(headings), page) for start, headings, page in row["sections"])
    return SourceDocument(
        document_id=row["document_id"],
        owner=row["owner"],
        name=row["name"],
        version=row["version"],
        metadata=row["metadata"],
        process=row["process"],
        channel=row["channel"],
        tags=tuple(row["tags"]),
        reading=Reading(row["content"], sections),
    )


async def plan(database: TenantDatabase, document: SourceDocument, chunks: Sequence[Chunk]) -> Plan:
    """Compare the chunks that a document should have with those that are there."""
    async with database.transaction() as transaction:
        rows = await transaction.rows("ingest.made", {"document_id": document.document_id})
    made = {(bytes(row["content_hash"]), row["occurrence"]): row for row in rows}
    wanted = {key_of(chunk): chunk for chunk in chunks}
    there = [(chunk, made[key]) for key, chunk in wanted.items() if key in made]
    return Plan(
        missing=tuple(chunk for key, chunk in wanted.items() if key not in made),
        moved=tuple(chunk for chunk, row in there if _place(chunk) != _kept_place(row)),
        renamed=tuple(
            chunk
            for chunk, row in there
            if (list(chunk.headings), chunk.page) != (row["headings"], row["page"])
        ),
        # Equal words are one memory, which is embedded as it stands first.
        behind_others=tuple(
            chunk for chunk, row in there if not chunk.occurrence and chunk.context != row["context"]
        ),
        gone=tuple(key for key in made if key not in wanted),
        ids={key: row["memory_id"] for key, row in made.items()},
    )


async def hold_version(transaction: Transaction, document: SourceDocument) -> None:
    """Keep the document as it is until the transaction ends; Overtaken if it is not that any more."""
    row = await transaction.first("ingest.hold_version", {"document_id": document.document_id})
    if row is None or row["version"] != document.version:
        raise Overtaken


async def add_chunks(
    transaction: Transaction, document: SourceDocument, chunks: Sequence[Chunk], ids: Sequence[UUID]
) -> None:
    """Say which memories are these chunks of a document."""
    rows = [
        {**_described(chunk), "memory_id": str(memory_id), "context": chunk.context}
        for chunk, memory_id in zip(chunks, ids, strict=True)
    ]
    parameters = {
        "tenant_id": transaction.tenant.id,
        "document_id": document.document_id,
        "owner": document.owner,
        "chunks": json.dumps(rows),
    }
    await transaction.execute("ingest.add_chunks", parameters)


async def settle(transaction: Transaction, document: SourceDocument, plan: Plan) -> None:
    """Say where chunks stand now, forget the memories of those that are gone, and that all are there."""
    await hold_version(transaction, document)
    key = {"document_id": document.document_id}
    if plan.moved:
        chunks = json.dumps([_described(chunk) for chunk in plan.moved])
        await transaction.execute("ingest.move_chunks", key | {"chunks": chunks})
    if plan.renamed:
        renamed = [
            {"memory_id": str(plan.ids[key_of(chunk)]), "metadata": metadata_of(document, chunk)}
            for chunk in plan.renamed
        ]
        parameters = {"memories": json.dumps(renamed), "name": document.name}
        await transaction.execute("ingest.describe_memories", parameters)
    if plan.gone:
        await _remove(transaction, document, plan.gone)
    await transaction.execute("ingest.complete", key | {"version": document.version})


def key_of(chunk: Chunk) -> Key:
    """What identifies a chunk within its document."""
    return chunk.content_hash, chunk.occurrence


def metadata_of(document: SourceDocument, chunk: Chunk) -> dict[str, Any]:
    """What a memory says about the document that it is part of; where it stands is kept with the document."""
    said: dict[str, Any] = {**document.metadata, "document": document.name}
    if chunk.headings:
        said["headings"] = list(chunk.headings)
    if chunk.page is not None:
        said["page"] = chunk.page
    return said


async def _file(transaction: Transaction, entry: Mapping[str, Any]) -> None:
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
    elif await _is_under_way(transaction, before):
        return
    # Without a version: a job that is overtaken does what the newest one needs.
    job = await enqueue(transaction, INGEST_JOB, {"document_id": str(document_id)}, owner=entry["owner"])
    await transaction.execute("ingest.set_job", {"document_id": document_id, "job_id": job.job_id})


async def _is_under_way(transaction: Transaction, before: Row) -> bool:
    """Whether all chunks of this version are there, or a job is at it that has not ended."""
    if before["ingested_version"] == before["version"]:
        return True
    row = await transaction.one("ingest.has_job", {"job_id": before["job_id"]})
    return bool(row["has_job"])


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


def _check_index(after: object) -> int:
    if isinstance(after, bool) or not isinstance(after, int) or not -1 <= after < CHUNK_INDEX_MAX:
        raise InvalidInputError("after must be the chunk_index of a chunk, or -1 to begin with the first.")
    return after


def _described(chunk: Chunk) -> dict[str, Any]:
    index, start, end, headings, page = _place(chunk)
    return {
        "content_hash": chunk.content_hash.hex(),
        "occurrence": chunk.occurrence,
        "chunk_index": index,
        "start_character": start,
        "end_character": end,
        "headings": headings,
        "page": page,
    }


def _place(chunk: Chunk) -> tuple[int, int, int, list[str], int | None]:
    return chunk.index, chunk.start, chunk.end, list(chunk.headings), chunk.page


def _kept_place(row: Row) -> tuple[int, int, int, list[str], int | None]:
    return row["chunk_index"], row["start_character"], row["end_character"], row["headings"], row["page"]
