"""Reference documents."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ReferenceDocument:
    """A document by name. `whole_id` is the memory that holds its text, or the first of its chunks."""

    document_id: UUID
    owner: str
    name: str
    title: str | None
    whole_id: UUID
    character_count: int
    metadata: dict[str, Any]
    version: int
    process: str
    created_at: datetime
    updated_at: datetime
