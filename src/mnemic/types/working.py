"""Working memory: what an agent needs only for its current task. It expires by itself."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.types.goal import Goal
from mnemic.types.memory import MemoryRecord


@dataclass(frozen=True, slots=True)
class WorkingValue:
    """A value under a key, of a channel and, unless `conversation` is None, of one conversation."""

    channel: str
    conversation: str | None
    key: str
    value: Any
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Thought:
    """A thought of an agent about its current task."""

    thought_id: UUID
    channel: str
    conversation: str | None
    content: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """Everything in the working memory of a channel and conversation, and the last turns of the conversation.

    `values` are ordered by key, `thoughts` and `turns` by time, the oldest first. `goal` is the active goal.
    """

    channel: str
    conversation: str | None
    goal: Goal | None = None
    values: tuple[WorkingValue, ...] = ()
    thoughts: tuple[Thought, ...] = ()
    turns: tuple[MemoryRecord, ...] = ()
