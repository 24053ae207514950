"""Context paging: sessions, objects and decisions. The tables are in `sql/migrations/0034_context.sql`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

ContextObjectType = Literal["file", "command", "search", "diff", "data", "prose", "message", "other"]
CONTEXT_OBJECT_TYPES: tuple[ContextObjectType, ...] = get_args(ContextObjectType)
ContextLevelNumber = Literal[0, 1, 2, 3, 4]
"""0 is the full text, 1 about 30 % of it, 2 about 5 %, 3 one line, 4 nothing."""
ContextZone = Literal["normal", "caution", "warning", "critical", "emergency"]
"""How full the window is."""
ContextLevelMaker = Literal["rules", "model"]
ContextFaultKind = Literal["micro", "restore", "edit"]
ContextRelation = Literal["depends_on", "supersedes", "mentions"]
CONTEXT_RELATIONS: tuple[ContextRelation, ...] = get_args(ContextRelation)
ContextEventKind = Literal["request", "admission", "transition", "fault", "epoch"]
CONTEXT_EVENT_KINDS: tuple[ContextEventKind, ...] = get_args(ContextEventKind)


@dataclass(frozen=True, slots=True)
class ContextSession:
    """A session in numbers.

    `tokens` are those of the last request as it was sent, `full_tokens` those that it would have had without
    paging. `saved_usd` is the money that paging saved, at the prices of the provider's prompt cache.
    """

    session_id: UUID
    session: str
    owner: str
    channel: str
    model: str
    zone: ContextZone
    tokens: int
    full_tokens: int
    epoch: int
    call_count: int
    object_count: int
    pinned_count: int
    fault_count: int
    saved_usd: float
    created_at: datetime
    used_at: datetime
    closed_at: datetime | None


@dataclass(frozen=True, slots=True)
class ContextLevel:
    """An object at one level.

    It says what the text left out, which questions it still answers, and when the full text is needed.
    `made_by` says whether rules made it or a language model wrote it.
    """

    level: ContextLevelNumber
    text: str
    tokens: int
    lost: tuple[str, ...] = ()
    can_answer: tuple[str, ...] = ()
    fault_when: tuple[str, ...] = ()
    made_by: ContextLevelMaker = "rules"


@dataclass(frozen=True, slots=True)
class ContextObject:
    """Something that the agent has read, and the level at which it is shown.

    `source_key` is what the tool was asked for: a path, a command, a pattern. `tokens` are estimated per
    level, 0 for one that was never made. `first_call` and `last_use` are numbers of requests of the session.
    `names` are key entities of the text, and `line` is the text in one line.
    """

    key: str
    type: ContextObjectType
    tool: str
    source_key: str
    content_hash: str
    level: ContextLevelNumber
    tokens: tuple[int, ...]
    line: str
    names: tuple[str, ...]
    tags: tuple[str, ...]
    is_pinned: bool
    is_error: bool
    is_recalled: bool
    is_in_window: bool
    superseded_by: str | None
    fault_count: int
    first_call: int
    last_use: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ContextObjectText:
    """An object with its full text, its shorter levels, and its relationships as (from, to, relation)."""

    object: ContextObject
    text: str
    levels: tuple[ContextLevel, ...]
    related: tuple[tuple[str, str, ContextRelation], ...] = ()


@dataclass(frozen=True, slots=True)
class ContextPressure:
    """How full the window of a session is."""

    tokens: int
    budget_tokens: int
    share: float
    zone: ContextZone


@dataclass(frozen=True, slots=True)
class AdmittedObject:
    """An object that was admitted, the text that is shown of it, and why at this level."""

    key: str
    level: ContextLevelNumber
    text: str
    tokens: int
    score: float
    parts: Mapping[str, float]
    threshold: float
    reason: str
    pressure: ContextPressure


@dataclass(frozen=True, slots=True)
class AssembledObject:
    """An object in an assembled context."""

    key: str
    level: ContextLevelNumber
    tokens: int
    is_pinned: bool
    text: str


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """A context within a budget of tokens; `left_out` are keys of objects for which there was no room."""

    text: str
    objects: tuple[AssembledObject, ...]
    tokens: int
    budget_tokens: int
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextAnswer:
    """The lines of an object that answer a question; `level` is the one that the object keeps."""

    key: str
    text: str
    tokens: int
    level: ContextLevelNumber
    is_found: bool


@dataclass(frozen=True, slots=True)
class RestoredContext:
    """Full texts that came back: the object first, then what it depends on within two hops."""

    key: str
    texts: Mapping[str, str]
    tokens: int
    is_pinned: bool


@dataclass(frozen=True, slots=True)
class ContextEvent:
    """One decision of a session. Which fields are set depends on the kind.

    A request has `tokens`, `full_tokens`, `zone` and the money saved so far; an admission `to_level`,
    `score`, `parts` and `threshold`; a transition `from_level` and `to_level`; a fault `fault`, `question`,
    `tokens` and `restored`; an epoch `epoch`, `full_tokens` before and `tokens` after it, and the saving
    that was expected.
    """

    event_id: UUID
    kind: ContextEventKind
    call: int
    at: datetime
    key: str | None = None
    from_level: ContextLevelNumber | None = None
    to_level: ContextLevelNumber | None = None
    tokens: int | None = None
    full_tokens: int | None = None
    zone: ContextZone | None = None
    saved_usd: float | None = None
    epoch: int | None = None
    fault: ContextFaultKind | None = None
    question: str | None = None
    restored: tuple[str, ...] = ()
    score: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    threshold: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ClosedContext:
    """A session that was closed, and the memories that its useful objects became."""

    session: ContextSession
    memory_ids: tuple[UUID, ...] = ()
