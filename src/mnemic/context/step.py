"""What a window decided: each decision is stored and can be shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from mnemic.context.levels.level import Level, ObjectType

Zone = Literal["normal", "caution", "warning", "critical", "emergency"]
FaultKind = Literal["micro", "restore", "edit"]
Relation = Literal["depends_on", "supersedes", "mentions"]


@dataclass(frozen=True, slots=True)
class Admission:
    """At which level an object was first sent, and why."""

    key: str
    level: Level
    score: float
    parts: Mapping[str, float]
    """Type, novelty, utility and recency."""
    threshold: float
    reason: str


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of level at the start of an epoch, or by a fault."""

    key: str
    from_level: Level
    to_level: Level
    reason: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A request for text that the window no longer held."""

    key: str
    kind: FaultKind
    question: str
    tokens: int
    """Tokens appended to the window."""
    restored: tuple[str, ...] = ()
    """Keys of all objects that came back: the object, and what it depends on within two hops."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """The start of an epoch: the prompt was rewritten once."""

    number: int
    reason: Literal["pressure", "cold cache", "client compacted", "model changed", "emergency"]
    tokens_before: int
    tokens_after: int
    saving_usd: float
    """Expected saving, after the cost of writing the provider's cache again."""


@dataclass(frozen=True, slots=True)
class Step:
    """What was decided for one request."""

    call: int
    """Number of the request within the session, from 0."""
    tokens: int
    zone: Zone
    admissions: tuple[Admission, ...] = ()
    transitions: tuple[Transition, ...] = ()
    epoch: Epoch | None = None
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Text of every object that is below level 0, by key. The same within an epoch, except for additions."""


@dataclass(frozen=True, slots=True)
class SavedObject:
    """An object as it is stored: enough to continue after a restart."""

    key: str
    type: ObjectType
    tool: str
    source_key: str
    content_hash: bytes
    """SHA-256 of the full text."""
    tokens: tuple[int, int, int, int, int]
    """Estimated tokens per level; 0 for a level that was never made."""
    level: Level
    sent_text: str | None
    """What was sent for it in this epoch, if below level 0."""
    first_call: int
    last_use: int
    is_error: bool = False
    is_pinned: bool = False
    superseded_by: str | None = None
    faults: int = 0


@dataclass(frozen=True, slots=True)
class SavedWindow:
    """A session as it is stored: enough to continue after a restart."""

    objects: tuple[SavedObject, ...] = ()
    related: tuple[tuple[str, str, Relation], ...] = ()
    epoch: int = 0
    calls: int = 0
    tokens_per_char: float = 0.35
    """Calibrated by the usage that providers report."""
    sent_at: datetime | None = None
    model: str = ""
    saved_usd: float = 0.0
    edited: tuple[tuple[str, int], ...] = ()
    """Edited files, with the call of their last edit."""
    fault_calls: tuple[int, ...] = ()
    """Calls of the newest faults, to notice thrashing."""
    appended_tokens: int = 0
    """Tokens of passages and restored texts, which the client does not send."""
    sent_entries: int = 0
    """Entries of the last request: so many the provider may have cached."""
    version: int = 0
    """Counts the saves of the session; 0 if it was never saved. `store.save_step` sets it."""
    level_count: int = 0
    """Levels of its objects that a model has written; only `store.load_window` sets it."""
