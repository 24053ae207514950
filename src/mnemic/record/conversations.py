"""Conversations: their turns, and the tools that were called in them.

The first turn (`retain` with `conversation=`) creates a conversation. Turns are memories and can be recalled,
changed and forgotten like all others.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.db.database import TenantDatabase
from mnemic.db.json_value import as_jsonb_object
from mnemic.errors import NotFoundError
from mnemic.types.conversation import Conversation, ToolInvocation
from mnemic.types.memory import MemoryRecord
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope, check_name


async def get_conversation(database: TenantDatabase, scope: Scope, conversation: str) -> Conversation:
    """One conversation; NotFoundError if the owner has none of that name."""
    parameters = {"owner": scope.require_owner(), "conversation": check_name("conversation", conversation)}
    async with database.transaction() as transaction:
        row = await transaction.first("conversations.get", parameters)
    if row is None:
        raise _no_conversation(conversation)
    return Conversation(**row)


async def set_outcome(
    database: TenantDatabase, scope: Scope, conversation: str, outcome: str
) -> Conversation:
    """Note in the metadata of a conversation how it ended."""
    parameters = {
        "owner": scope.require_owner(),
        "conversation": check_name("conversation", conversation),
        "outcome": outcome,
    }
    async with database.transaction() as transaction:
        row = await transaction.first("conversations.set_outcome", parameters)
    if row is None:
        raise _no_conversation(conversation)
    return Conversation(**row)


async def list_conversations(
    database: TenantDatabase, scope: Scope, *, channel: str | None, before: datetime | None, limit: int
) -> list[Conversation]:
    """Conversations, most recent turn first."""
    parameters = {
        "owner": scope.require_owner(),
        "channel": channel,
        "before": before,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [Conversation(**row) for row in await transaction.rows("conversations.list", parameters)]


async def list_turns(
    database: TenantDatabase, scope: Scope, conversation: str, *, from_position: int, limit: int
) -> list[MemoryRecord]:
    """Turns by position."""
    parameters = {
        "owner": scope.require_owner(),
        "conversation": check_name("conversation", conversation),
        "from_position": from_position,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [
            MemoryRecord.from_row(row) for row in await transaction.rows("conversations.turns", parameters)
        ]


async def recent_turns(
    database: TenantDatabase, scope: Scope, *, conversation: str | None, limit: int
) -> list[MemoryRecord]:
    """The most recent turns, by position."""
    parameters = {"owner": scope.require_owner(), "conversation": conversation, "limit": check_limit(limit)}
    name = "conversations.recent" if conversation is None else "conversations.recent_of"
    async with database.transaction() as transaction:
        rows = await transaction.rows(name, parameters)
    return [MemoryRecord.from_row(row) for row in reversed(rows)]


async def add_tool_invocation(
    database: TenantDatabase,
    scope: Scope,
    conversation: str,
    *,
    tool: str,
    arguments: Mapping[str, Any],
    result: str | None,
    succeeded: bool,
    duration_ms: float | None,
    at: datetime | None,
    memory_id: UUID | None,
) -> ToolInvocation:
    """Record one tool call; it cannot be changed afterwards."""
    parameters = {
        "owner": scope.require_owner(),
        "conversation": check_name("conversation", conversation),
        "tool": check_name("tool", tool),
        "arguments": as_jsonb_object("arguments", arguments),
        "result": result,
        "succeeded": succeeded,
        "duration_ms": duration_ms,
        "at": at,
        "memory_id": memory_id,
    }
    async with database.transaction() as transaction:
        row = await transaction.first("conversations.add_tool", parameters)
    if row is None:
        raise NotFoundError(
            f"There is no conversation {conversation!r} of this owner, or no turn {memory_id} in it."
        )
    return ToolInvocation(**row)


async def list_tool_invocations(
    database: TenantDatabase, scope: Scope, conversation: str, *, limit: int
) -> list[ToolInvocation]:
    """Tool calls of a conversation, in order."""
    parameters = {
        "owner": scope.require_owner(),
        "conversation": check_name("conversation", conversation),
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [ToolInvocation(**row) for row in await transaction.rows("conversations.tools", parameters)]


def _no_conversation(conversation: str) -> NotFoundError:
    return NotFoundError(f"There is no conversation {conversation!r} of this owner.")
