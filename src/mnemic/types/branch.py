"""Channels, branches, and what merging or dropping a branch does.

A branch is a channel that was forked from another one, its parent. It is *open* until it is *merged* into its
parent or dropped. Undoing the merge opens it again; a dropped branch leaves nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

BranchState = Literal["open", "merged"]

ConflictKind = Literal["changed", "value", "duplicate"]
"""Why a memory of a branch cannot simply be merged:

- `changed`: the parent changed a memory that the branch changed or forgot;
- `value`: the parent has stored another value of the same subject and attribute since the fork;
- `duplicate`: the same text, or the same external id, is stored outside of the branch.
"""

MergeChoice = Literal["branch", "parent", "both"]
MERGE_CHOICES: tuple[str, ...] = get_args(MergeChoice)
"""Whose memory counts after the merge. With `parent`, the memory of the branch stays in the branch."""

MergeChangeKind = Literal["move", "forget", "supersede", "hide"]
"""What merging does to a memory: it moves from the branch to the parent; it is forgotten or superseded in
the parent; or, if it belongs to a channel above the parent, it is hidden in the parent."""


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel of an owner. `parent` and what follows is None unless it is a branch.

    `memory_count` is the number of memories in the channel itself that are not forgotten.
    """

    channel: str
    memory_count: int
    parent: str | None
    state: BranchState | None
    reason: str | None
    forked_at: datetime | None
    merged_at: datetime | None
    changeset_id: UUID | None
    """The changeset of the last merge; `memory.curation.undo` undoes it."""


@dataclass(frozen=True, slots=True)
class MergeChange:
    """A change of one memory by a merge; `replaced_by` is the memory that supersedes it."""

    memory_id: UUID
    kind: MergeChangeKind
    content: str
    replaced_by: UUID | None = None


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """A memory of the branch and one of the parent that stand against each other, and the choice.

    `choice` is None until one is made. `branch_memory_id` is None if the branch forgot the memory.
    """

    conflict_id: str
    """The key of the choice in the next call of `merge`."""
    kind: ConflictKind
    branch_memory_id: UUID | None
    branch_content: str | None
    parent_memory_id: UUID
    parent_content: str
    choices: tuple[MergeChoice, ...]
    choice: MergeChoice | None


@dataclass(frozen=True, slots=True)
class Merge:
    """What merging a branch changes, or, after a dry run, would change."""

    channel: str
    parent: str
    dry_run: bool
    changes: tuple[MergeChange, ...]
    conflicts: tuple[MergeConflict, ...]
    left_behind: tuple[UUID, ...]
    """Memories that stay in the branch, since the parent's was chosen."""
    changeset_id: UUID | None

    @property
    def unresolved(self) -> tuple[MergeConflict, ...]:
        """Conflicts without a choice; with any of them, nothing is merged."""
        return tuple(conflict for conflict in self.conflicts if conflict.choice is None)


@dataclass(frozen=True, slots=True)
class BranchReceipt:
    """Deleted rows of a dropped branch, per table; the audit log has the same counts under `receipt_id`."""

    receipt_id: UUID
    rows: Mapping[str, int]
    finished_at: datetime

    @property
    def row_count(self) -> int:
        """Rows in all tables together."""
        return sum(self.rows.values())
