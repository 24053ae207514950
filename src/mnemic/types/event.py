"""Events in their order, and the consumers that follow them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

from mnemic.errors import InvalidInputError

EventType = Literal[
    "memory.created",
    "memory.changed",
    "memory.forgotten",
    "memory.restored",
    "memory.deleted",
    "entity.created",
    "entity.changed",
    "entity.deleted",
    "relation.created",
    "relation.changed",
    "relation.deleted",
    "state.created",
    "state.changed",
    "state.deleted",
    "context.created",
    "context.changed",
    "context.deleted",
    "changeset.staged",
    "changeset.applied",
    "changeset.rejected",
    "changeset.undone",
    "channel.forked",
    "channel.merged",
]
EventOrder = Literal["oldest", "newest"]
EVENT_ORDERS: tuple[str, ...] = get_args(EventOrder)
EVENT_TYPES: tuple[str, ...] = get_args(EventType)

# Far below the limit of the column, so that position plus page size cannot overflow.
POSITION_MAX = 2**62


@dataclass(frozen=True)
class Event:
    """One event. Positions increase within a tenant, in the order in which events are read."""

    position: int
    type: EventType
    owner: str
    subject: str
    """The changed object: the id of a memory, an entity or a changeset, the key of a state document, the name
    of a session, or a channel."""
    data: Mapping[str, Any]
    """Some fields of the changed row, never its content."""
    at: datetime


@dataclass(frozen=True)
class EventConsumer:
    """A named reader of events, and its position."""

    name: str
    owner: str | None
    """Whose events it follows; None: those of all owners."""
    types: tuple[str, ...] | None
    """Which types it follows; None: all."""
    position: int
    """The last event that it has processed."""
    behind: int
    """Number of positions after that one."""
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True)
class EventReading:
    """One reader's claim on a consumer, and its start position; a later claim replaces it."""

    consumer: str
    owner: str | None
    """Whose events it follows; None: those of all owners."""
    position: int
    """The last event that the consumer has processed."""
    reader: UUID
    """Identifies the reader that may move the position."""


def check_event_types(field: str, types: object) -> list[str] | None:
    """The types to follow, None for all; an error if one of them does not exist."""
    if types is None:
        return None
    if isinstance(types, str) or not isinstance(types, Iterable):
        raise InvalidInputError(f"{field} must be a list of types such as {EVENT_TYPES[0]!r}, or None.")
    wanted = sorted({check_event_type(field, item) for item in types})
    if not wanted:
        raise InvalidInputError(f"{field} must name at least one type; None stands for all.")
    return wanted


def check_event_type(field: str, value: object) -> str:
    """A type that exists."""
    if not isinstance(value, str) or value not in EVENT_TYPES:
        raise InvalidInputError(f"{field}: {ascii(value)[:64]} is none of {', '.join(EVENT_TYPES)}.")
    return value


def check_position(field: str, value: object) -> int:
    """A position in the log: 0 is before the first event."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= POSITION_MAX:
        raise InvalidInputError(f"{field} must be the position of an event, or 0.")
    return value
