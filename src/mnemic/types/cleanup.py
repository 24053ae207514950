"""Cleanup: memories that could be archived, and what archiving them would change."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

from mnemic.types.curation import ChangeDiff
from mnemic.types.memory import MemoryRecord

CleanupKind = Literal["stale", "expired", "never_recalled", "dead_links"]
CLEANUP_KINDS: tuple[CleanupKind, ...] = get_args(CleanupKind)

UNUSED_DAYS = 90
"""How long a memory must be unused, by default."""
UNUSED_DAYS_MAX = 36_500
SALIENCE_BELOW = 0.4
"""Stale memories have a lower salience, by default; 0.5 is that of a new one (docs/concepts/salience.md)."""
RUN_MAX = 1_000
"""Memories that one run changes: it is one transaction."""


@dataclass(frozen=True, slots=True)
class CleanupCandidate:
    """A memory that could be archived, and why.

    `used_at` is when it was last recalled, or stored if it never was. `dead_references` are evidence that
    leads to nothing: cleanup removes them and keeps the memory.
    """

    memory: MemoryRecord
    reason: str
    used_at: datetime | None = None
    dead_references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CleanupPage:
    """A page of candidates; pass `next_after` as `after` for the next one. It is None at the end.

    A call reads a bounded number of memories, so a page may have few candidates, or none, and yet a next one.
    """

    kind: CleanupKind
    candidates: tuple[CleanupCandidate, ...]
    next_after: str | None


@dataclass(frozen=True, slots=True)
class CleanupCount:
    """How many memories a kind of cleanup found when they were last counted, with the default limits.

    `is_complete` is False if counting stopped before the last memory of the owner.
    """

    kind: CleanupKind
    memory_count: int
    is_complete: bool
    counted_at: datetime


@dataclass(frozen=True, slots=True)
class CleanupRun:
    """What a cleanup changed, or would change in a dry run.

    `changeset_id` is what `curation.undo` takes; None in a dry run, or if there was nothing to change.
    `changes` are the first of `change_count` changes. `left_out` are named memories that do not qualify (any
    more). `is_complete` is False if more memories qualify than one run changes: run it again.
    """

    kind: CleanupKind
    changeset_id: UUID | None
    change_count: int
    changes: tuple[ChangeDiff, ...]
    left_out: tuple[UUID, ...]
    is_complete: bool
    is_dry_run: bool
    text: str
