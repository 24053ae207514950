"""Changesets: changes of memories that Mnemic proposes or makes on its own behalf, in groups.

A change is *staged* when it is proposed; nothing has changed yet. It can be *approved*, then *applied*, or
*rejected* instead; an applied one can be *undone*, and a rejected one can be staged again. A changeset is
*staged* while one of its changes is staged or approved, otherwise *applied* while one is applied, otherwise
*undone* or *rejected*.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

from mnemic.types.memory import RelationshipKind

ChangeKind = Literal[
    "add",
    "promote",
    "demote",
    "archive",
    "prune",
    "merge",
    "supersede",
    "quarantine",
    "restore",
    "move",
    "unlink",
]
ChangeState = Literal["staged", "approved", "applied", "rejected", "undone"]
ChangesetState = Literal["staged", "applied", "rejected", "undone"]
ChangesetPurpose = Literal[
    "curation", "contradiction", "consolidation", "promotion", "demotion", "merge", "cleanup"
]

CHANGE_KINDS: tuple[str, ...] = get_args(ChangeKind)
CHANGE_STATES: tuple[str, ...] = get_args(ChangeState)
CHANGESET_STATES: tuple[str, ...] = get_args(ChangesetState)
CHANGESET_PURPOSES: tuple[str, ...] = get_args(ChangesetPurpose)

OPEN_STATES: tuple[ChangeState, ...] = ("staged", "approved")
"""States of changes that can still be applied or rejected."""
DECIDED_STATES: tuple[ChangeState, ...] = ("applied", "rejected")
"""States of changes that can be undone: applied ones get the state undone, rejected ones are staged again."""

REASON_MAX_CHARACTERS = 1024


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """One change of one memory, as it was proposed, and its state.

    `fields` are the new values, in JSON. `version_before` is the version that the change was proposed for,
    after applying the one that it replaced; `version_after` is the one that it made.
    """

    change_id: UUID
    memory_id: UUID
    kind: ChangeKind
    state: ChangeState
    fields: dict[str, Any]
    version_before: int
    version_after: int | None
    applied_at: datetime | None
    related_id: UUID | None
    relationship: RelationshipKind | None
    relationship_added: bool
    reason: str
    evidence: tuple[UUID, ...]
    signals: dict[str, float]

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "RecordedChange":
        """The change in a row of the queries `changesets.changes…`."""
        return cls(**{**row, "evidence": tuple(row["evidence"])})


@dataclass(frozen=True, slots=True)
class Changeset:
    """A group of changes of one owner's memories, with how many of them are in each state."""

    changeset_id: UUID
    owner: str
    channel: str | None
    purpose: ChangesetPurpose
    state: ChangesetState
    reason: str
    details: dict[str, Any]
    process: str
    created_at: datetime
    decided_at: datetime | None
    undone_at: datetime | None
    change_counts: dict[str, int]
