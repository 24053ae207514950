"""What waits for a decision of a person: pairs of memories, memories in quarantine, and how many of each."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

from mnemic.types.memory import MemoryRecord

ReviewKind = Literal["near_duplicate", "contradiction", "quarantine"]
ReviewDecision = Literal["keep_new", "keep_old", "keep_both"]

REVIEW_KINDS: tuple[str, ...] = get_args(ReviewKind)
REVIEW_DECISIONS: tuple[str, ...] = get_args(ReviewDecision)

WAITING_COUNT_MAX = 200
"""Counting stops here, so that it stays cheap: 200 means 200 or more."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """How much waits for a decision of the owner; each count stops at 200.

    `staged_change_count` are changes that the curator proposed. `uncompared_count` memories were not compared
    with others yet, so they are in no pair; a background task and the daily cleanup compare them. The total
    is without them.
    """

    near_duplicate_count: int
    contradiction_count: int
    quarantined_count: int
    staged_change_count: int
    uncompared_count: int
    total_count: int


@dataclass(frozen=True, slots=True)
class ReviewPair:
    """Two memories that somebody should decide about, both with all their fields.

    `memory` is the newer one, or the one in quarantine; `other` is the older one, or the active one that it
    contradicts. It is None if a memory in quarantine contradicts no active memory. `similarity` belongs to
    near duplicates, `certainty` and `attribute` to contradictions.
    """

    kind: ReviewKind
    memory: MemoryRecord
    other: MemoryRecord | None
    found_at: datetime
    reason: str | None = None
    similarity: float | None = None
    certainty: float | None = None
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """A page of pairs, newest first; pass `next_before` as `before` for the next one. It is None at the end.

    `uncompared_count` memories of the owner were not compared yet; counting stops at 200.
    """

    pairs: tuple[ReviewPair, ...]
    next_before: str | None
    uncompared_count: int


@dataclass(frozen=True, slots=True)
class Resolution:
    """A decision about a pair.

    `changeset_id` names the changes of memories, which `curation.undo` undoes. It is None if no memory
    changed; then `curation.reopen` lets the pair wait again.
    """

    kind: ReviewKind
    memory_id: UUID
    other_id: UUID | None
    decision: ReviewDecision
    changeset_id: UUID | None
