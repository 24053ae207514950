"""Reference documents, their chunks, and the progress of their ingestion."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ReferenceDocument:
    """A document by name.

    `whole_id` is the memory that holds its text, or the first of its chunks; None if it was ingested: then
    many memories hold its text, and `memory.documents.chunks` lists them.
    """

    document_id: UUID
    owner: str
    name: str
    title: str | None
    whole_id: UUID | None
    character_count: int
    metadata: dict[str, Any]
    version: int
    process: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Ingestion:
    """An ingested document, or one being ingested. `chunk_count` chunks exist, all of them if `is_complete`.

    The job `job_id` ingests it and reports the progress.
    """

    document: ReferenceDocument
    media_type: str
    is_complete: bool
    chunk_count: int
    job_id: UUID | None


@dataclass(frozen=True, slots=True)
class DocumentChunk:
    """A memory that is part of a document, and its position in the document's text, in characters."""

    chunk_index: int
    memory_id: UUID
    start_character: int
    end_character: int
    headings: tuple[str, ...]
    page: int | None
