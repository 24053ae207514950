"""Goals: memories of the category `prospective` with a status, a priority, a deadline and links between them.

A goal is *active*, *blocked*, *completed* or *abandoned*. It is blocked while one of its blockers is not
completed (the view `state.goal_records` computes that, so that it is active again in the same moment), or
because the caller says so. Active and blocked goals are open; all others are closed. Every transition is
possible, except that a goal with open blockers is not made active by hand.

The text of a goal is its memory, so that it is recalled, versioned, erased and exported like any other.
Closing a goal archives its memory: recall no longer finds it, except `as_of` a time before. Opening it again
makes the memory active. Deleting a goal forgets its memory, and restoring the memory brings the goal back,
with its links.

Links stay within one owner, which foreign keys enforce, and form no cycle, which is checked while all other
changes of the owner's goals wait.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.record.memories import forgotten, write_change
from mnemic.retain.pipeline import retain_items
from mnemic.runtime.core import Caller
from mnemic.types.checks import check_choice, check_id, check_text, check_time, check_whole
from mnemic.types.goal import GOAL_FIELDS, GOAL_STATUSES, PRIORITY_MAX, Goal
from mnemic.types.memory import CONTENT_MAX_CHARACTERS, MemoryRecord
from mnemic.types.page import check_limit
from mnemic.types.retained import Retained
from mnemic.types.scope import Scope, check_name

RESULT_MAX_CHARACTERS = 8_192
# A version of a memory keeps the start of the result as the reason of its change.
REASON_MAX_CHARACTERS = 1_024
# Every change of a goal's links walks along them, so their number is limited.
OPEN_GOALS_MAX = 10_000
BLOCKERS_MAX = 32
DEPTH_MAX = 16
"""Levels of sub-goals, the goal at the top included."""


async def create_goal(
    caller: Caller,
    scope: Scope,
    content: str,
    *,
    priority: int,
    deadline: datetime | str | None,
    parent: UUID | str | None,
    blocked_by: Sequence[UUID | str],
    tags: Sequence[str] | None,
    metadata: Mapping[str, Any] | None,
) -> Goal:
    """Store a goal; ConflictError if the owner has a memory with the same text, or too many open goals."""
    text = check_text("content", content, max_characters=CONTENT_MAX_CHARACTERS)
    blockers = _check_blockers(blocked_by)
    values = {
        "owner": scope.require_owner(),
        "priority": check_whole("priority", priority, 0, PRIORITY_MAX),
        "deadline": check_time("deadline", deadline) if deadline is not None else None,
        "parent_id": check_id("parent", parent) if parent is not None else None,
    }
    created: list[Goal] = []

    async def add(transaction: Transaction, retained: Retained) -> None:
        goal_id = _new_memory(retained)
        await _add(transaction, {**values, "goal_id": goal_id}, blockers)
        created[:] = [await _read(transaction, scope, goal_id)]

    await retain_items(
        Caller(caller.core, scope),
        [text],
        {"category": "prospective", "tags": tags, "metadata": metadata},
        and_then=add,
    )
    return created[0]


async def get_goal(database: TenantDatabase, scope: Scope, goal_id: UUID | str) -> Goal:
    """One goal; NotFoundError if the owner has none with this id."""
    async with database.transaction() as transaction:
        return await _read(transaction, scope, check_id("goal_id", goal_id))


async def list_goals(
    database: TenantDatabase,
    scope: Scope,
    *,
    statuses: Sequence[str] | None,
    due_before: datetime | str | None,
    parent: UUID | str | None,
    channels: Sequence[str] | None,
    after: UUID | str | None,
    limit: int,
) -> list[Goal]:
    """Goals in the order in which they are due; NotFoundError if there is no goal `after`."""
    chosen = _check_statuses(statuses)
    parameters: dict[str, Any] = {
        "owner": scope.require_owner(),
        "statuses": chosen,
        # What is stored as active may be blocked.
        "stored_statuses": [*chosen, "active"] if "blocked" in chosen else chosen,
        "channels": [check_name("channel", channel) for channel in channels]
        if channels is not None
        else None,
        "due_before": check_time("due_before", due_before) if due_before is not None else None,
        "parent_id": check_id("parent", parent) if parent is not None else None,
        "limit": check_limit(limit),
    }
    after_id = check_id("after", after) if after is not None else None
    async with database.transaction() as transaction:
        last = await _read(transaction, scope, after_id) if after_id is not None else None
        cursor = {
            "after_id": after_id,
            "after_deadline": last.deadline if last is not None else None,
            "after_priority": last.priority if last is not None else None,
        }
        return [Goal.from_row(row) for row in await transaction.rows("goals.list", parameters | cursor)]


async def update_goal(
    database: TenantDatabase,
    scope: Scope,
    goal_id: UUID | str,
    *,
    status: str | None,
    priority: int | None,
    deadline: datetime | str | None,
    result: str | None,
    parent: UUID | str | None,
    clear: Sequence[str],
) -> Goal:
    """Change a goal, and archive its memory or make it active if that closes or opens the goal.

    ConflictError if it has open blockers and is to become active, or if links would form a cycle.
    """
    changes = _check_changes(status, priority, deadline, result, parent, clear)
    key = _key(scope, goal_id)

    async def update(transaction: Transaction) -> Goal:
        await transaction.execute("goals.hold_owner", key)
        goal = await _read(transaction, scope, key["goal_id"])
        wanted = {**await transaction.one("goals.stored", key), **changes}
        if status is not None:
            wanted["status"] = _new_status(goal, status)
            await _check_open_count(transaction, key["owner"], goal, status)
        if changes.get("parent_id") is not None:
            await _check_parent(transaction, key, changes["parent_id"])
        await transaction.execute("goals.update", {**key, **wanted})
        await _follow_status(transaction, goal, await _read(transaction, scope, goal.goal_id))
        return await _read(transaction, scope, goal.goal_id)

    return await database.run(update)


async def block_goal(
    database: TenantDatabase, scope: Scope, goal_id: UUID | str, blocker_id: UUID | str
) -> Goal:
    """Make a goal wait for another one; ConflictError if that one waits for it, directly or not."""
    key = _key(scope, goal_id)
    blocker = check_id("blocker_id", blocker_id)

    async def block(transaction: Transaction) -> Goal:
        await transaction.execute("goals.hold_owner", key)
        goal = await _read(transaction, scope, key["goal_id"])
        if blocker in goal.blocked_by:
            return goal
        await _add_blockers(transaction, key, [blocker], already=len(goal.blocked_by))
        await transaction.execute("goals.touch", key)
        return await _read(transaction, scope, key["goal_id"])

    return await database.run(block)


async def unblock_goal(
    database: TenantDatabase, scope: Scope, goal_id: UUID | str, blocker_id: UUID | str
) -> Goal:
    """Stop a goal from waiting for another one; does nothing if it does not wait."""
    key = _key(scope, goal_id)
    blocker = check_id("blocker_id", blocker_id)

    async def unblock(transaction: Transaction) -> Goal:
        await transaction.execute("goals.hold_owner", key)
        if await transaction.execute("goals.remove_blocker", {**key, "blocker_id": blocker}):
            await transaction.execute("goals.touch", key)
        return await _read(transaction, scope, key["goal_id"])

    return await database.run(unblock)


async def delete_goal(database: TenantDatabase, scope: Scope, goal_id: UUID | str) -> bool:
    """Forget the memory of a goal; returns whether there was such a goal."""
    key = _key(scope, goal_id)

    async def delete(transaction: Transaction) -> bool:
        await transaction.execute("goals.hold_owner", key)
        if await transaction.first("goals.get", key) is None:
            return False
        seen = await _read_memory(transaction, key["owner"], key["goal_id"])
        await write_change(transaction, seen, forgotten(seen), changed_by="user", reason="goal deleted")
        return True

    return await database.run(delete)


def _key(scope: Scope, goal_id: UUID | str) -> dict[str, Any]:
    return {"owner": scope.require_owner(), "goal_id": check_id("goal_id", goal_id)}


def _new_memory(retained: Retained) -> UUID:
    """The id of the memory that was stored; ConflictError if its text is known already."""
    for duplicate in retained.duplicates:
        raise ConflictError(
            f"The owner has a memory with this text already: {duplicate.duplicate_of}. If it is a goal, "
            "update it; otherwise say the goal in other words. Nothing was stored."
        )
    for refused in retained.refused:
        raise ConflictError(f"The goal was not stored: {refused.reason}")
    return retained.stored[0].memory_id


async def _add(transaction: Transaction, values: dict[str, Any], blockers: Sequence[UUID]) -> None:
    """Insert the row of a new goal and its links."""
    key: dict[str, Any] = {"owner": values["owner"], "goal_id": values["goal_id"]}
    await transaction.execute("goals.hold_owner", key)
    await _require_room(transaction, key["owner"])
    if values["parent_id"] is not None:
        await _check_parent(transaction, key, values["parent_id"])
    await transaction.execute("goals.add", values)
    await _add_blockers(transaction, key, blockers, already=0)


async def _add_blockers(
    transaction: Transaction, key: Mapping[str, Any], blockers: Sequence[UUID], *, already: int
) -> None:
    if already + len(blockers) > BLOCKERS_MAX:
        raise ConflictError(f"A goal can have at most {BLOCKERS_MAX} blockers: unblock it from some first.")
    for blocker in blockers:
        await _require_goal(transaction, key["owner"], blocker)
        cycle = {"owner": key["owner"], "goal_id": blocker, "searched_id": key["goal_id"]}
        if blocker == key["goal_id"] or (await transaction.one("goals.waits_for", cycle))["is_waiting"]:
            raise ConflictError(f"The goal {blocker} waits for this one: each would wait for the other.")
        await transaction.execute("goals.add_blocker", {**key, "blocker_id": blocker})


async def _check_parent(transaction: Transaction, key: Mapping[str, Any], parent_id: UUID) -> None:
    """ConflictError if the goal is above its new parent, or if sub-goals would be nested too deeply."""
    await _require_goal(transaction, key["owner"], parent_id)
    searched = {
        "owner": key["owner"],
        "goal_id": parent_id,
        "searched_id": key["goal_id"],
        "depth_max": DEPTH_MAX + 1,
    }
    above = await transaction.one("goals.ancestors", searched)
    if above["is_above"]:
        raise ConflictError(f"The goal {parent_id} is a part of this one, so it cannot be its parent.")
    below = await transaction.one("goals.height", {**key, "depth_max": DEPTH_MAX + 1})
    if above["depth"] + max(below["height"], 1) > DEPTH_MAX:
        raise ConflictError(f"Sub-goals can be nested {DEPTH_MAX} levels deep: choose a parent higher up.")


async def _require_goal(transaction: Transaction, owner: str, goal_id: UUID) -> None:
    if await transaction.first("goals.get", {"owner": owner, "goal_id": goal_id}) is None:
        raise _not_found(goal_id)


async def _require_room(transaction: Transaction, owner: str) -> None:
    counted = await transaction.one("goals.count_open", {"owner": owner, "limit": OPEN_GOALS_MAX})
    if counted["open_count"] >= OPEN_GOALS_MAX:
        raise ConflictError(f"The owner has {OPEN_GOALS_MAX:,} open goals: complete or abandon some first.")


async def _check_open_count(transaction: Transaction, owner: str, goal: Goal, status: str) -> None:
    if not goal.is_open and status in ("active", "blocked"):
        await _require_room(transaction, owner)


def _new_status(goal: Goal, status: str) -> str:
    """The status to store. Blockers decide while there are open ones: `active` is what is stored then."""
    if status == "active" and goal.open_blockers:
        waiting = ", ".join(map(str, goal.open_blockers[:3]))
        raise ConflictError(f"The goal waits for {waiting}: complete these, or unblock it from them.")
    if status == "blocked" and goal.open_blockers:
        return "active"
    return status


async def _follow_status(transaction: Transaction, before: Goal, after: Goal) -> None:
    """Archive the memory of a goal that was closed, and make that of one that was opened active."""
    if before.is_open == after.is_open:
        return
    seen = await _read_memory(transaction, after.owner, after.goal_id)
    reason = f"goal {after.status}" + (f": {after.result}" if after.result and not after.is_open else "")
    new = replace(seen, status="active" if after.is_open else "archived")
    if new.status != seen.status:
        await write_change(transaction, seen, new, changed_by="user", reason=reason[:REASON_MAX_CHARACTERS])


async def _read(transaction: Transaction, scope: Scope, goal_id: UUID) -> Goal:
    row = await transaction.first("goals.get", {"owner": scope.require_owner(), "goal_id": goal_id})
    if row is None:
        raise _not_found(goal_id)
    return Goal.from_row(row)


async def _read_memory(transaction: Transaction, owner: str, memory_id: UUID) -> MemoryRecord:
    row = await transaction.one("memories.get", {"owner": owner, "memory_id": memory_id})
    return MemoryRecord.from_row(row)


def _check_changes(
    status: object, priority: object, deadline: object, result: object, parent: object, clear: object
) -> dict[str, Any]:
    """The columns to write, by name; InvalidInputError if there are none, or one is both set and cleared."""
    changes: dict[str, Any] = {}
    if status is not None:
        changes["status"] = check_choice("status", status, GOAL_STATUSES)
    if priority is not None:
        changes["priority"] = check_whole("priority", priority, 0, PRIORITY_MAX)
    if deadline is not None:
        changes["deadline"] = check_time("deadline", deadline)
    if result is not None:
        changes["result"] = check_text("result", result, max_characters=RESULT_MAX_CHARACTERS)
    if parent is not None:
        changes["parent_id"] = check_id("parent", parent)
    for field in _listed("clear", clear, len(GOAL_FIELDS)):
        column = "parent_id" if check_choice("clear", field, GOAL_FIELDS) == "parent" else str(field)
        if changes.get(column) is not None:
            raise InvalidInputError(f"{field} is both given and to be cleared: leave one of them out.")
        changes[column] = None
    if not changes:
        raise InvalidInputError("Nothing to change: name at least one field.")
    return changes


def _check_statuses(statuses: object) -> list[str]:
    if statuses is None:
        return list(GOAL_STATUSES)
    listed = _listed("statuses", statuses, len(GOAL_STATUSES))
    return [check_choice("statuses", status, GOAL_STATUSES) for status in listed]


def _check_blockers(blocked_by: object) -> list[UUID]:
    listed = _listed("blocked_by", blocked_by, BLOCKERS_MAX)
    return list(dict.fromkeys(check_id("blocked_by", each) for each in listed))


def _listed(field: str, values: object, most: int) -> list[object]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{field} must be a list, not {type(values).__name__}.")
    listed = list(islice(values, most + 1))
    if len(listed) > most:
        raise InvalidInputError(f"{field}: at most {most} are allowed.")
    return listed


def _not_found(goal_id: UUID) -> NotFoundError:
    return NotFoundError(f"There is no goal {goal_id} of this owner.")
