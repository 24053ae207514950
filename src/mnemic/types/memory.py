"""The memory record and its allowed values; the table `state.memories` has the same checks."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

Category = Literal[
    "factual", "preference", "behavioral", "episodic", "procedural", "reference", "prospective"
]
Source = Literal["extracted", "user_provided", "imported", "inferred"]
Provenance = Literal["measured", "reasoned", "witnessed"]
Status = Literal["active", "superseded", "merged", "archived", "pending_review"]
ChangedBy = Literal["extraction", "user", "system", "conflict_resolution"]
RelationshipKind = Literal["supports", "contradicts", "supersedes", "refines", "co_occurs", "derived_from"]

CATEGORIES: tuple[str, ...] = get_args(Category)
SOURCES: tuple[str, ...] = get_args(Source)
PROVENANCES: tuple[str, ...] = get_args(Provenance)
STATUSES: tuple[str, ...] = get_args(Status)
CHANGERS: tuple[str, ...] = get_args(ChangedBy)
RELATIONSHIP_KINDS: tuple[str, ...] = get_args(RelationshipKind)

CONTENT_MAX_CHARACTERS = 8192
TAG_MAX_CHARACTERS = 64
TAGS_MAX = 64


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One memory in its current version, or, in a history, in an earlier one.

    The view `state.memory_records` has these columns in this order.

    `at` is when it happened or was said, `valid_from` to `valid_to` when it was true, `recorded_at` when
    this version was stored, `created_at` when the memory was created. `outdated_by` is a newer memory that
    gives another value of the same attribute; unlike a superseded memory, an outdated one is still recalled.
    """

    memory_id: UUID
    version: int
    owner: str
    channel: str
    process: str
    conversation: str | None
    position: int | None
    role: str | None
    name: str | None
    content: str
    category: Category
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    source: Source
    provenance: Provenance
    evidence: tuple[str, ...]
    confidence: float
    anchored: bool
    status: Status
    superseded_by: UUID | None
    merged_into: UUID | None
    at: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None
    expires_at: datetime | None
    deleted_at: datetime | None
    created_at: datetime
    recorded_at: datetime
    changed_by: ChangedBy
    change_reason: str | None
    whole_id: UUID | None
    chunk_index: int | None
    chunk_count: int | None
    external_id: str | None
    usefulness: float
    salience: float
    reinforcement_count: int
    retrieval_count: int
    last_retrieved_at: datetime | None
    last_injected_at: datetime | None
    outdated_by: UUID | None = None

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> "MemoryRecord":
        """The record in a row of `state.memory_records` or of `state.memory_history`."""
        fields = {**row, "tags": tuple(row["tags"]), "evidence": tuple(row["evidence"])}
        for name in ("tenant_id", "branch", "known_until"):
            fields.pop(name, None)
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class MemoryRelationship:
    """One memory's relationship to another: it supports, contradicts, supersedes … it."""

    from_id: UUID
    to_id: UUID
    kind: RelationshipKind
    confidence: float
    process: str
    created_at: datetime
