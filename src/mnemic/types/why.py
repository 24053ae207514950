"""The answer to "Why do you believe this?": what a memory rests on, what replaced it, what rests on it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from mnemic.types.changeset import ChangeKind, ChangesetPurpose, ChangeState
from mnemic.types.memory import Category, ChangedBy, Provenance, Source, Status
from mnemic.types.statement import Certainty, Tense


@dataclass(frozen=True, slots=True)
class StatementDetail:
    """What extraction understood: subject, attribute and value, how certain, and which extractor read it."""

    subject: str
    attribute: str
    value: str
    is_negated: bool
    certainty: Certainty
    tense: Tense
    extractor: str


@dataclass(frozen=True, slots=True)
class WhySource:
    """A memory that another one rests on: mostly a turn, with its words, speaker and time.

    `rests_on_it` is the memory that was derived from this one; `depth` is 1 for what the memory itself rests
    on, 2 for what that rests on. `quotation` stands verbatim in the source. `content` is shortened.
    """

    memory_id: UUID
    rests_on_it: UUID
    depth: int
    content: str
    quotation: str | None
    conversation: str | None
    position: int | None
    role: str | None
    name: str | None
    at: datetime
    source: Source
    provenance: Provenance
    is_forgotten: bool


@dataclass(frozen=True, slots=True)
class WhyReplacement:
    """A memory that took the place of another one, or whose place was taken, with the reason."""

    memory_id: UUID
    content: str
    how: Literal["superseded", "merged"]
    reason: str | None
    changed_by: ChangedBy
    replaced_at: datetime


@dataclass(frozen=True, slots=True)
class WhyDerived:
    """A memory that rests on this one: a statement that extraction made from it, with its quotation."""

    memory_id: UUID
    content: str
    quotation: str | None
    status: Status
    is_forgotten: bool


@dataclass(frozen=True, slots=True)
class WhyChange:
    """A change of the memory that Mnemic proposed or made on its own behalf."""

    changeset_id: UUID
    change_id: UUID
    purpose: ChangesetPurpose
    kind: ChangeKind
    state: ChangeState
    reason: str
    proposed_at: datetime


@dataclass(frozen=True, slots=True)
class Why:
    """Why a memory is believed: where it comes from, what it replaced, and what replaced it.

    `evidence` are the references that were given with it, except the `sources`. `contradicted_by` are active
    memories that contradict it. `derived` are the newest statements and other memories that rest on it.
    `text` is the same for people. `notes` say what was left out.
    """

    memory_id: UUID
    content: str
    category: Category
    source: Source
    provenance: Provenance
    confidence: float
    anchored: bool
    status: Status
    is_forgotten: bool
    at: datetime
    conversation: str | None
    role: str | None
    name: str | None
    evidence: tuple[str, ...]
    statement: StatementDetail | None
    sources: tuple[WhySource, ...]
    replaced: tuple[WhyReplacement, ...]
    replaced_by: tuple[WhyReplacement, ...]
    contradicted_by: tuple[UUID, ...]
    changes: tuple[WhyChange, ...]
    text: str
    notes: tuple[str, ...] = ()
    derived: tuple[WhyDerived, ...] = ()
