"""Working memory: values, thoughts and the active goal of a channel and conversation, until they expire.

It is kept in an unlogged table: writing it costs little, and a crash of PostgreSQL empties it. What must not
be lost belongs into a memory or a state document. An expired item is invisible at once; the next write of its
owner, or the job `maintenance.prune`, deletes it.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.json_value import as_jsonb
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.types.checks import check_flag, check_id, check_number, check_text, check_whole
from mnemic.types.goal import Goal
from mnemic.types.identity import new_id
from mnemic.types.memory import MemoryRecord
from mnemic.types.scope import Scope, check_name
from mnemic.types.working import Thought, WorkingMemory, WorkingValue

EXPIRES_IN_S_DEFAULT = 3_600.0
EXPIRES_IN_S_MIN = 1.0
EXPIRES_IN_S_MAX = 7 * 24 * 3_600.0
VALUE_MAX_BYTES = 8_192
"""As JSON."""
THOUGHT_MAX_CHARACTERS = 2_048
VALUES_MAX = 100
"""Values of one channel and conversation."""
THOUGHTS_MAX = 50
"""Thoughts of one channel and conversation; a further one replaces the oldest."""
OWNER_ITEMS_MAX = 1_000
"""Values, thoughts and active goals of an owner in all its channels and conversations."""
TURNS_DEFAULT, TURNS_MAX = 10, 100
ACTIVE_GOAL_KEY = "active"


async def set_value(
    database: TenantDatabase,
    scope: Scope,
    key: str,
    value: Any,
    *,
    expires_in_s: float,
    conversation: str | None,
) -> WorkingValue:
    """Write a value; ConflictError if there are too many others."""
    item = {
        **_conversation_key(scope, conversation),
        "kind": "value",
        "key": check_name("key", key),
        "value": as_jsonb("value", value, max_bytes=VALUE_MAX_BYTES),
        "expires_in_s": _check_expiry(expires_in_s),
        "kind_max": VALUES_MAX,
    }
    return _as_value(await database.run(lambda transaction: _set(transaction, item)))


async def list_values(
    database: TenantDatabase, scope: Scope, *, conversation: str | None, key: str | None = None
) -> list[WorkingValue]:
    """Values by key, or the one with this key."""
    parameters = {
        **_conversation_key(scope, conversation),
        "kind": "value",
        "key": check_name("key", key) if key is not None else None,
    }
    async with database.transaction() as transaction:
        return [_as_value(row) for row in await transaction.rows("working.list", parameters)]


async def delete_value(database: TenantDatabase, scope: Scope, key: str, *, conversation: str | None) -> bool:
    """Delete a value; returns whether there was one."""
    parameters = {**_conversation_key(scope, conversation), "kind": "value", "key": check_name("key", key)}
    async with database.transaction() as transaction:
        return bool((await transaction.one("working.delete", parameters))["deleted_count"])


async def add_thought(
    database: TenantDatabase, scope: Scope, content: str, *, expires_in_s: float, conversation: str | None
) -> Thought:
    """Add a thought, and delete the oldest ones above THOUGHTS_MAX."""
    item = {
        **_conversation_key(scope, conversation),
        "kind": "thought",
        "key": str(new_id()),
        "value": as_jsonb("content", check_text("content", content, max_characters=THOUGHT_MAX_CHARACTERS)),
        "expires_in_s": _check_expiry(expires_in_s),
        # The oldest are deleted below.
        "kind_max": OWNER_ITEMS_MAX,
    }

    async def add(transaction: Transaction) -> Row:
        row = await _set(transaction, item)
        await transaction.execute("working.drop_oldest_thoughts", {**item, "keep": THOUGHTS_MAX})
        return row

    return _as_thought(await database.run(add))


async def list_thoughts(database: TenantDatabase, scope: Scope, *, conversation: str | None) -> list[Thought]:
    """Thoughts, the oldest first."""
    parameters = {**_conversation_key(scope, conversation), "kind": "thought", "key": None}
    async with database.transaction() as transaction:
        return [_as_thought(row) for row in await transaction.rows("working.list", parameters)]


async def set_active_goal(
    database: TenantDatabase,
    scope: Scope,
    goal_id: UUID | str,
    *,
    expires_in_s: float,
    conversation: str | None,
) -> Goal:
    """Choose the goal that is worked on; ConflictError unless it is open."""
    chosen = check_id("goal_id", goal_id)
    item = {
        **_conversation_key(scope, conversation),
        "kind": "goal",
        "key": ACTIVE_GOAL_KEY,
        "value": as_jsonb("goal_id", str(chosen)),
        "expires_in_s": _check_expiry(expires_in_s),
        "kind_max": 1,
    }

    async def choose(transaction: Transaction) -> Goal:
        goal = await _goal(transaction, scope, chosen)
        if goal is None:
            raise NotFoundError(f"There is no goal {chosen} of this owner.")
        if not goal.is_open:
            raise ConflictError(f"The goal {chosen} is {goal.status}: make it active first.")
        await _set(transaction, item)
        return goal

    return await database.run(choose)


async def get_active_goal(database: TenantDatabase, scope: Scope, *, conversation: str | None) -> Goal | None:
    """The goal that is worked on; None if there is none, or if it is closed or forgotten."""
    parameters = {**_conversation_key(scope, conversation), "kind": "goal", "key": ACTIVE_GOAL_KEY}
    async with database.transaction() as transaction:
        row = await transaction.first("working.list", parameters)
        return await _open_goal(transaction, scope, row["value"]) if row is not None else None


async def read_working_memory(
    database: TenantDatabase, scope: Scope, *, conversation: str | None, turns: int
) -> WorkingMemory:
    """Everything of a channel and conversation, and its last turns, in one transaction."""
    parameters = {**_conversation_key(scope, conversation), "kind": None, "key": None}
    limit = check_whole("turns", turns, 0, TURNS_MAX)
    async with database.transaction() as transaction:
        rows = await transaction.rows("working.list", parameters)
        goal_ids = [row["value"] for row in rows if row["kind"] == "goal"]
        goal = await _open_goal(transaction, scope, goal_ids[0]) if goal_ids else None
        recent = (
            await transaction.rows("conversations.recent_of", {**parameters, "limit": limit}) if limit else []
        )
    return WorkingMemory(
        channel=scope.channel,
        conversation=conversation,
        goal=goal,
        values=tuple(_as_value(row) for row in rows if row["kind"] == "value"),
        thoughts=tuple(_as_thought(row) for row in rows if row["kind"] == "thought"),
        turns=tuple(MemoryRecord.from_row(row) for row in reversed(recent)),
    )


async def clear(database: TenantDatabase, scope: Scope, *, conversation: str | None, everywhere: bool) -> int:
    """Delete everything of a channel and conversation, or of the owner; returns the number of items."""
    if check_flag("everywhere", everywhere) and conversation is not None:
        raise InvalidInputError("everywhere clears all conversations: leave conversation out.")
    parameters = {**_conversation_key(scope, conversation), "everywhere": everywhere}
    async with database.transaction() as transaction:
        return int((await transaction.one("working.clear", parameters))["deleted_count"])


async def prune(database: TenantDatabase, *, limit: int) -> int:
    """Delete some expired items of all owners; returns how many."""
    return await database.run(lambda transaction: transaction.execute("working.prune", {"limit": limit}))


def _conversation_key(scope: Scope, conversation: str | None) -> dict[str, Any]:
    return {
        "owner": scope.require_owner(),
        "channel": scope.channel,
        "conversation": check_name("conversation", conversation) if conversation is not None else "",
    }


async def _set(transaction: Transaction, item: Mapping[str, Any]) -> Row:
    await transaction.execute("working.hold_owner", item)
    row = await transaction.first("working.set", {**item, "owner_max": OWNER_ITEMS_MAX})
    if row is None:
        raise ConflictError(
            f"The working memory is full: it holds {VALUES_MAX} values per conversation and "
            f"{OWNER_ITEMS_MAX:,} items per owner. Delete or clear some first."
        )
    return row


async def _goal(transaction: Transaction, scope: Scope, goal_id: UUID) -> Goal | None:
    row = await transaction.first("goals.get", {"owner": scope.require_owner(), "goal_id": goal_id})
    return Goal.from_row(row) if row is not None else None


async def _open_goal(transaction: Transaction, scope: Scope, stored: str) -> Goal | None:
    goal = await _goal(transaction, scope, UUID(stored))
    return goal if goal is not None and goal.is_open else None


def _check_expiry(expires_in_s: object) -> float:
    seconds = check_number("expires_in_s", expires_in_s)
    if not EXPIRES_IN_S_MIN <= seconds <= EXPIRES_IN_S_MAX:
        raise InvalidInputError(
            f"expires_in_s must be from {EXPIRES_IN_S_MIN:.0f} to {EXPIRES_IN_S_MAX:,.0f} seconds (7 days). "
            "For what must last longer, use memory.retain or memory.state."
        )
    return seconds


def _as_value(row: Row) -> WorkingValue:
    fields = {name: row[name] for name in ("channel", "key", "value", "created_at", "expires_at")}
    return WorkingValue(conversation=row["conversation"] or None, **fields)


def _as_thought(row: Row) -> Thought:
    fields = {name: row[name] for name in ("channel", "created_at", "expires_at")}
    return Thought(
        thought_id=UUID(row["key"]), conversation=row["conversation"] or None, content=row["value"], **fields
    )
