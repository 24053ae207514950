"""Branches: a channel that was forked from another one, its parent (docs/concepts/branches.md).

A branch reads its own memories as they are, and those of its parent as they were known at the fork; a branch
of a branch reads each channel above it as of its own fork. `mnemic.branch_view` computes these times for the
searches of recall, for lists and for this module. What a branch stores carries its name
(`state.memories.branch`), which keeps duplicates and grants apart.

A memory of the parent never changes because of a branch: a change in the branch hides it there, by a row in
`state.branch_tombstones`, and stores the changed memory in the branch. Merging makes these changes in the
parent (`branch_merge.py`), dropping deletes them (`govern/branch_drop.py`).
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.types.branch import Channel
from mnemic.types.checks import check_text
from mnemic.types.memory import MemoryRecord
from mnemic.types.page import check_limit
from mnemic.types.scope import GLOBAL_CHANNEL, Scope, check_name

DEPTH_MAX = 4
"""Branches above each other: every recall in a branch reads all channels above it."""
BRANCHES_MAX = 200
"""Branches of one owner, merged ones included."""
REASON_MAX_CHARACTERS = 1024


async def list_channels(
    database: TenantDatabase, scope: Scope, *, after: str | None, limit: int
) -> list[Channel]:
    """The channels of the owner that have memories, and its branches, by name."""
    parameters = {
        "owner": scope.require_owner(),
        "channel": None,
        "after": check_name("after", after) if after is not None else None,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [Channel(**row) for row in await transaction.rows("branches.list", parameters)]


async def fork(
    database: TenantDatabase, scope: Scope, channel: str, *, parent: str, reason: str | None
) -> Channel:
    """Create a branch of `parent`; ConflictError if the name is in use or a limit is reached."""
    parameters = {
        "owner": scope.require_owner(),
        "channel": check_name("channel", channel),
        "parent": check_name("parent", parent),
        "reason": check_reason(reason),
        "process": scope.process,
    }
    if channel in (GLOBAL_CHANNEL, parent):
        raise InvalidInputError(f"channel must be a new name, not {GLOBAL_CHANNEL} or the parent itself.")

    async def work(transaction: Transaction) -> Channel:
        await transaction.execute("branches.hold_owner", parameters)
        _check_fork(await transaction.one("branches.fork_facts", parameters), channel, parent)
        await transaction.execute("branches.fork", parameters)
        return Channel(**await transaction.one("branches.list", {**parameters, "after": None, "limit": 1}))

    return await database.run(work)


def _check_fork(facts: dict[str, Any], channel: str, parent: str) -> None:
    if facts["is_taken"]:
        raise ConflictError(f"The channel {channel!r} is in use: give the branch a new name.")
    if not facts["has_parent"]:
        raise NotFoundError(f"There is no channel {parent!r}: nothing was stored in it.")
    if facts["is_parent_merged"]:
        raise ConflictError(f"The branch {parent!r} was merged: fork the channel that it was merged into.")
    if facts["parent_depth"] >= DEPTH_MAX:
        raise ConflictError(
            f"There are {DEPTH_MAX} channels above {parent!r}, which is the limit: merge some."
        )
    if facts["branch_count"] >= BRANCHES_MAX:
        raise ConflictError(f"The owner has {BRANCHES_MAX} branches, which is the limit: drop some.")


@dataclass(frozen=True)
class BranchMemory:
    """A memory as an open branch reads it. `is_own` says that it is stored in the branch."""

    record: MemoryRecord
    is_own: bool
    is_hidden: bool


async def read_in_branch(database: TenantDatabase, scope: Scope, memory_id: UUID) -> BranchMemory | None:
    """The memory as the branch of the scope reads it; None if the scope's channel is no open branch.

    NotFoundError if the branch does not read the memory.
    """
    if scope.channel == GLOBAL_CHANNEL:
        return None
    parameters = {"owner": scope.require_owner(), "channel": scope.channel, "memory_id": memory_id}
    async with database.transaction() as transaction:
        row = await transaction.first("branches.read", parameters)
    if row is None:
        return None
    if row["memory_id"] is None:
        raise NotFoundError(f"The branch {scope.channel!r} reads no memory {memory_id}.")
    is_own, is_hidden = row.pop("is_own"), row.pop("is_hidden")
    return BranchMemory(MemoryRecord.from_row(row), is_own, is_hidden)


async def hide(
    transaction: Transaction,
    scope: Scope,
    memory: MemoryRecord,
    *,
    replaced_by: UUID | None,
    reason: str | None,
) -> None:
    """Hide a memory in the branch of the scope; ConflictError if it is hidden already."""
    parameters = {**_hidden(scope, memory), "replaced_by": replaced_by, "reason": check_reason(reason)}
    await transaction.one("branches.hold_for_writing", parameters)
    if not await transaction.execute("branches.hide", parameters):
        raise ConflictError(
            f"The memory {memory.memory_id} is hidden in the branch {scope.channel!r} already."
        )


async def forget_in_branch(
    database: TenantDatabase, scope: Scope, memory: BranchMemory, *, reason: str | None
) -> MemoryRecord:
    """Hide a memory in the branch; one that is hidden stays so. The parent's memory does not change."""
    if not memory.is_hidden:
        await database.run(
            lambda transaction: hide(transaction, scope, memory.record, replaced_by=None, reason=reason)
        )
    return replace(memory.record, deleted_at=datetime.now(UTC), outdated_by=None)


async def restore_in_branch(database: TenantDatabase, scope: Scope, memory: BranchMemory) -> MemoryRecord:
    """Let the branch read a memory again that it has hidden."""

    async def work(transaction: Transaction) -> None:
        parameters = _hidden(scope, memory.record)
        await transaction.one("branches.hold_for_writing", parameters)
        if memory.is_hidden and not await transaction.execute("branches.show", parameters):
            raise ConflictError("The memory is hidden by a branch above this one: restore it there.")

    await database.run(work)
    return replace(memory.record, outdated_by=None)


def _hidden(scope: Scope, memory: MemoryRecord) -> dict[str, Any]:
    return {
        "owner": scope.require_owner(),
        "channel": scope.channel,
        "memory_id": memory.memory_id,
        "whole_id": memory.whole_id,
    }


def check_reason(reason: object) -> str | None:
    """A reason of at most REASON_MAX_CHARACTERS."""
    return check_text("reason", reason, max_characters=REASON_MAX_CHARACTERS) if reason is not None else None
