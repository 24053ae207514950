"""`memory.conversations`: conversations, their turns and their tool calls."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.errors import InvalidInputError
from mnemic.record import conversations
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.checks import (
    check_choice,
    check_flag,
    check_id,
    check_number,
    check_text,
    check_time,
    check_whole,
)
from mnemic.types.conversation import (
    CONVERSATION_OUTCOMES,
    Conversation,
    ConversationOutcome,
    ToolInvocation,
)
from mnemic.types.memory import MemoryRecord
from mnemic.types.scope import check_name

POSITION_MAX = 2**31 - 1


class AsyncConversations(CallGroup):
    """Conversations. The first turn creates a conversation: `retain(…, conversation=…)`."""

    @routed("conversations.get")
    async def get(self, conversation: str, *, owner: str | None = None) -> Conversation:
        """Return one conversation; NotFoundError if the owner has none of that name."""
        return await conversations.get_conversation(
            self._caller.database, self._caller.scoped(owner), conversation
        )

    @routed("conversations.list")
    async def list(
        self,
        *,
        channel: str | None = None,
        before: datetime | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[Conversation]:
        """Return conversations, latest first; `before` is the last `last_turn_at` of the previous page."""
        return await conversations.list_conversations(
            self._caller.database,
            self._caller.scoped(owner),
            channel=check_name("channel", channel) if channel is not None else None,
            before=check_time("before", before) if before is not None else None,
            limit=limit,
        )

    @routed("conversations.turns")
    async def turns(
        self, conversation: str, *, from_position: int = 0, limit: int = 1000, owner: str | None = None
    ) -> Sequence[MemoryRecord]:
        """Return the turns of a conversation in order, starting at a position."""
        check_whole("from_position", from_position, 0, POSITION_MAX)
        return await conversations.list_turns(
            self._caller.database,
            self._caller.scoped(owner),
            conversation,
            from_position=from_position,
            limit=limit,
        )

    @routed("conversations.recent")
    async def recent(
        self, *, conversation: str | None = None, limit: int = 20, owner: str | None = None
    ) -> Sequence[MemoryRecord]:
        """Return the last turns, of one conversation or of all, in the order in which they were recorded."""
        return await conversations.recent_turns(
            self._caller.database,
            self._caller.scoped(owner),
            conversation=check_name("conversation", conversation) if conversation is not None else None,
            limit=limit,
        )

    @routed("conversations.record_tool")
    async def record_tool(
        self,
        conversation: str,
        tool: str,
        *,
        arguments: Mapping[str, Any] | None = None,
        result: str | None = None,
        succeeded: bool = True,
        duration_ms: float | None = None,
        at: datetime | str | None = None,
        memory_id: UUID | str | None = None,
        owner: str | None = None,
    ) -> ToolInvocation:
        """Record a tool call in a conversation; the record is immutable."""
        return await conversations.add_tool_invocation(
            self._caller.database,
            self._caller.scoped(owner),
            conversation,
            tool=tool,
            arguments=arguments if arguments is not None else {},
            result=check_text("result", result) if result is not None else None,
            succeeded=check_flag("succeeded", succeeded),
            duration_ms=_check_duration(duration_ms) if duration_ms is not None else None,
            at=check_time("at", at) if at is not None else None,
            memory_id=check_id("memory_id", memory_id) if memory_id is not None else None,
        )

    @routed("conversations.tools")
    async def tools(
        self, conversation: str, *, limit: int = 100, owner: str | None = None
    ) -> Sequence[ToolInvocation]:
        """Return the tool calls of a conversation, in order."""
        return await conversations.list_tool_invocations(
            self._caller.database, self._caller.scoped(owner), conversation, limit=limit
        )

    @routed("conversations.set_outcome")
    async def set_outcome(
        self, conversation: str, outcome: ConversationOutcome, *, owner: str | None = None
    ) -> Conversation:
        """State how a conversation ended: its `metadata` gets the key `outcome`.

        Mnemic learns from it which sequences of tools work. Without it, the last tool call decides.
        """
        return await conversations.set_outcome(
            self._caller.database,
            self._caller.scoped(owner),
            conversation,
            check_choice("outcome", outcome, CONVERSATION_OUTCOMES),
        )


def _check_duration(duration_ms: float) -> float:
    if check_number("duration_ms", duration_ms) < 0:
        raise InvalidInputError("duration_ms must be 0 or more.")
    return duration_ms
