"""Which memories a recall may return, as a plain model in Python: every rule once, without an index.

A memory is the list of its versions, as `memory.memories.history` returns it. A recall sees one version of
each, or none, and either it belongs to the caller or a grant lets it in; then the filters decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.types.memory import MemoryRecord


@dataclass(frozen=True)
class Granted:
    """A grant of the test, and whether it is still active."""

    grant_id: UUID
    giver: str
    reader: str
    channel: str | None
    categories: tuple[str, ...] | None
    tags: tuple[str, ...] | None
    conversation: str | None
    is_active: bool

    def opens(self, memory: MemoryRecord) -> bool:
        return (
            self.is_active
            and memory.owner == self.giver
            and self.channel in (None, memory.channel)
            and (self.categories is None or memory.category in self.categories)
            and (self.tags is None or bool(set(self.tags) & set(memory.tags)))
            and self.conversation in (None, memory.conversation)
        )


@dataclass(frozen=True)
class Asked:
    """The arguments of a recall that decide which memories it may see; None means not given."""

    owner: str
    channel: str
    channels: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    conversation: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    min_confidence: float | None = None
    statuses: tuple[str, ...] | None = None
    role: str | None = None
    name: str | None = None
    source: str | None = None
    metadata: Mapping[str, Any] | None = None
    document: str | None = None
    as_of: datetime | None = None


def visible(
    histories: Sequence[Sequence[MemoryRecord]], grants: Sequence[Granted], asked: Asked, now: datetime
) -> dict[UUID, set[UUID | None]]:
    """The memories that recall must return, each with the grants that open it; None for the owner's own."""
    known = [_known(history, asked.as_of) for history in histories]
    passing = [
        memory for memory in known if memory is not None and _passes(memory, asked, asked.as_of or now)
    ]
    today = {history[-1].memory_id: history[-1] for history in histories}
    let_in = {
        memory.memory_id: _ways(memory, today[memory.memory_id], grants, asked, now) for memory in passing
    }
    return {memory_id: ways for memory_id, ways in let_in.items() if ways}


def _known(history: Sequence[MemoryRecord], as_of: datetime | None) -> MemoryRecord | None:
    """The version of a memory at the moment, or the current one."""
    versions = [version for version in history if as_of is None or version.recorded_at <= as_of]
    return versions[-1] if versions else None


def _ways(
    memory: MemoryRecord, today: MemoryRecord, grants: Sequence[Granted], asked: Asked, now: datetime
) -> set[UUID | None]:
    """The grants that open it. The active channel does not restrict a grant for a channel.

    A grant opens the past of memories that it covers today, too.
    """
    usual = memory.channel in (asked.channels or (asked.channel, "_global"))
    if memory.owner == asked.owner:
        return {None} if usual else set()
    return {
        grant.grant_id
        for grant in grants
        if grant.reader == asked.owner
        and grant.opens(memory)
        and (asked.as_of is None or (_is_there(today, now) and grant.opens(today)))
        and (usual or (asked.channels is None and grant.channel is not None))
    }


def _passes(memory: MemoryRecord, asked: Asked, moment: datetime) -> bool:
    happened_at = memory.at or memory.created_at
    return (
        _is_there(memory, moment)
        and memory.status in (asked.statuses or ("active",))
        and (asked.categories is None or memory.category in asked.categories)
        and (asked.tags is None or set(asked.tags) <= set(memory.tags))
        and asked.conversation in (None, memory.conversation)
        and (asked.since is None or happened_at >= asked.since)
        and (asked.until is None or happened_at < asked.until)
        and (asked.min_confidence is None or memory.confidence >= asked.min_confidence)
        and asked.role in (None, memory.role)
        and asked.name in (None, memory.name)
        and asked.source in (None, memory.source)
        and (asked.metadata is None or contains(memory.metadata, asked.metadata))
        and asked.document in (None, memory.metadata.get("document"))
        and (asked.as_of is None or _is_valid(memory, asked.as_of))
    )


def contains(whole: Any, part: Any) -> bool:
    """JSON containment as PostgreSQL defines it, without its exception for scalars in lists."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(
            key in whole and contains(whole[key], value) for key, value in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and all(any(contains(each, one) for each in whole) for one in part)
    return type(whole) is type(part) and bool(whole == part)


def _is_there(memory: MemoryRecord, moment: datetime) -> bool:
    return memory.deleted_at is None and (memory.expires_at is None or memory.expires_at > moment)


def _is_valid(memory: MemoryRecord, moment: datetime) -> bool:
    begun = memory.valid_from is None or memory.valid_from <= moment
    return begun and (memory.valid_to is None or memory.valid_to > moment)
