"""The results of curation: proposals, what they would change, and policies."""

from dataclasses import dataclass
from typing import Any, Literal, get_args
from uuid import UUID

from mnemic.types.changeset import ChangeKind, Changeset, ChangeState
from mnemic.types.memory import RelationshipKind

CurationKind = Literal["promote", "archive", "prune", "merge", "supersede"]
"""What the curator proposes; everything else it keeps as it is."""
CURATION_KINDS: tuple[CurationKind, ...] = get_args(CurationKind)


@dataclass(frozen=True, slots=True)
class ChangeDiff:
    """One change, with the values of the changed fields before and after it.

    `content` is the text of the memory, `other_content` that of the memory that takes its place; both are
    shortened. `evidence` are memories that the proposal rests on, `signals` the numbers that led to it.
    """

    change_id: UUID
    memory_id: UUID
    kind: ChangeKind
    state: ChangeState
    reason: str
    content: str
    before: dict[str, Any]
    after: dict[str, Any]
    other_id: UUID | None
    other_content: str | None
    relationship: RelationshipKind | None
    evidence: tuple[UUID, ...]
    signals: dict[str, float]


@dataclass(frozen=True, slots=True)
class ChangesetDiff:
    """A changeset and some of its changes; `text` is the same for people.

    `next_after` continues the list: pass it as `after`. It is None at the end.
    """

    changeset: Changeset
    changes: tuple[ChangeDiff, ...]
    text: str
    next_after: int | None = None


@dataclass(frozen=True, slots=True)
class CurationRun:
    """What a run of the curator read and proposed.

    `changeset_id` is None if there is nothing to propose, or in a dry run. `counts` are the memories by what
    is proposed for them, with those to `keep`. `applied_count` changes were applied by a policy.
    `is_complete` says that the run has read the memories to the end; otherwise the next one continues.
    """

    changeset_id: UUID | None
    read_count: int
    counts: dict[str, int]
    applied_count: int
    is_complete: bool
    is_dry_run: bool
    changes: tuple[ChangeDiff, ...]
    text: str
    notes: tuple[str, ...] = ()
