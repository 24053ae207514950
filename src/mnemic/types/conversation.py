"""Conversations and their tool calls."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

ConversationOutcome = Literal["success", "failure"]
CONVERSATION_OUTCOMES: tuple[ConversationOutcome, ...] = get_args(ConversationOutcome)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation. Its turns are the memories with this `conversation`, ordered by `position`.

    `metadata` has the key `outcome` if somebody stated how the conversation ended.
    """

    owner: str
    conversation: str
    channel: str
    turn_count: int
    metadata: dict[str, Any]
    started_at: datetime
    last_turn_at: datetime
    archived_at: datetime | None


@dataclass(frozen=True, slots=True)
class ToolInvocation:
    """One call of a tool in a conversation; `memory_id` is the turn that made it, if known."""

    invocation_id: UUID
    owner: str
    conversation: str
    memory_id: UUID | None
    tool: str
    arguments: Any
    result: str | None
    succeeded: bool
    duration_ms: float | None
    at: datetime
