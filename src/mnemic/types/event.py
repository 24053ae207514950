"""Events: what happened, in order, and who follows it from where."""

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
]
EVENT_TYPES: tuple[str, ...] = get_args(EventType)

# Far below what the column holds, so that a page behind it can be counted out.
POSITION_MAX = 2**62


@dataclass(frozen=True)
class Event:
    """One thing that happened. Positions count up within a tenant, in the order in which events are read."""

    position: int
    type: EventType
    owner: str
    subject: str
    """What it is about: the id of a memory or an entity, the key of a state document."""
    data: Mapping[str, Any]
    """A few words about it, never its content."""
    at: datetime


@dataclass(frozen=True)
class EventConsumer:
    """A name under which events are followed, and how far that is."""

    name: str
    owner: str | None
    """Whose events it follows; None: everybody's."""
    types: tuple[str, ...] | None
    """Which types it follows; None: all."""
    position: int
    """The last event that it is done with."""
    behind: int
    """How many positions there are after that one."""
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True)
class EventReading:
    """One reader's hold on a consumer, and where it began; the last one that was given out holds."""

    consumer: str
    owner: str | None
    """Whose events it follows; None: everybody's."""
    position: int
    """The last event that the consumer is done with."""
    reader: UUID
    """Says who moves it on."""


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
    """A place in the log: 0 is before the first event."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= POSITION_MAX:
        raise InvalidInputError(f"{field} must be the position of an event, or 0.")
    return value
