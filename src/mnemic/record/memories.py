"""Reading and changing single memories.

Every change goes one way: lock the row, make the new state from the old one, write it. The database
numbers the new state and keeps the old one (migration 0002), so that any version can be had back.
A change of the words needs a new vector; it is computed before the transaction begins.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.json_value import as_jsonb_object
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.types.memory import ChangedBy, MemoryRecord
from mnemic.types.scope import Scope

# The fields that a version brings back when it is restored.
REVERTED = (
    "content",
    "category",
    "tags",
    "metadata",
    "channel",
    "source",
    "provenance",
    "evidence",
    "confidence",
    "anchored",
    "status",
    "superseded_by",
    "merged_into",
    "at",
    "valid_from",
    "valid_to",
    "expires_at",
    "deleted_at",
)

Replace = Callable[[MemoryRecord], MemoryRecord]
Reembed = Callable[[MemoryRecord], Awaitable[Callable[[Transaction], Awaitable[None]]]]


async def get_memory(database: TenantDatabase, scope: Scope, memory_id: UUID) -> MemoryRecord:
    """One memory of the owner, whatever its status; NotFoundError if there is none."""
    async with database.transaction() as transaction:
        return await _read(transaction, scope.require_owner(), memory_id)


async def list_memories(
    database: TenantDatabase, scope: Scope, filters: dict[str, Any]
) -> list[MemoryRecord]:
    """Memories of the owner, newest first."""
    async with database.transaction() as transaction:
        rows = await transaction.rows("memories.list", {"owner": scope.require_owner(), **filters})
    return [MemoryRecord.from_row(row) for row in rows]


async def change_memory(
    database: TenantDatabase,
    scope: Scope,
    memory_id: UUID,
    change: Replace,
    *,
    changed_by: ChangedBy,
    reason: str | None,
    reembed: Reembed,
) -> MemoryRecord:
    """Apply `change` to the memory and return what it is now."""
    owner = scope.require_owner()
    seen = await get_memory(database, scope, memory_id)
    wanted = change(seen)
    replace_vector = await reembed(wanted) if wanted.content != seen.content else None

    async def write(transaction: Transaction) -> MemoryRecord:
        await transaction.one("memories.lock", {"owner": owner, "memory_id": memory_id})
        new = change(await _read(transaction, owner, memory_id))
        if replace_vector is not None and new.content != wanted.content:
            raise _changed_meanwhile(memory_id)
        await transaction.execute("memories.write", _columns(new, changed_by, reason))
        if replace_vector is not None:
            await replace_vector(transaction)
        return await _read(transaction, owner, memory_id)

    return await database.run(write)


async def write_change(
    transaction: Transaction,
    seen: MemoryRecord,
    new: MemoryRecord,
    *,
    changed_by: ChangedBy,
    reason: str | None,
) -> None:
    """Write a new state over the one that was seen; ConflictError if somebody changed it meanwhile."""
    key = {"owner": seen.owner, "memory_id": seen.memory_id}
    await transaction.one("memories.lock", key)
    if (await _read(transaction, seen.owner, seen.memory_id)).version != seen.version:
        raise _changed_meanwhile(seen.memory_id)
    await transaction.execute("memories.write", _columns(new, changed_by, reason))


async def read_history(database: TenantDatabase, scope: Scope, memory_id: UUID) -> list[MemoryRecord]:
    """Every version of the memory, the first one first."""
    parameters = {"owner": scope.require_owner(), "memory_id": memory_id}
    async with database.transaction() as transaction:
        rows = await transaction.rows("memories.history", parameters)
    if not rows:
        raise _not_found(memory_id)
    return [_version(row) for row in rows]


async def read_version(database: TenantDatabase, scope: Scope, memory_id: UUID, version: int) -> MemoryRecord:
    """One version of the memory."""
    parameters = {"owner": scope.require_owner(), "memory_id": memory_id, "version": version}
    async with database.transaction() as transaction:
        row = await transaction.first("memories.version", parameters)
    if row is None:
        raise NotFoundError(f"The memory {memory_id} has no version {version} here.")
    return _version(row)


async def read_as_of(
    database: TenantDatabase, scope: Scope, memory_id: UUID, moment: datetime
) -> MemoryRecord | None:
    """The memory as it was known at a moment, or None if it was not known then."""
    parameters = {"owner": scope.require_owner(), "memory_id": memory_id, "moment": moment}
    async with database.transaction() as transaction:
        row = await transaction.first("memories.as_of", parameters)
    return _version(row) if row is not None else None


async def read_whole(database: TenantDatabase, scope: Scope, memory_id: UUID) -> str:
    """The text that was retained, joined from its chunks."""
    parameters = {"owner": scope.require_owner(), "memory_id": memory_id}
    async with database.transaction() as transaction:
        rows = await transaction.rows("memories.whole", parameters)
    if not rows:
        raise _not_found(memory_id)
    return "".join(row["content"] for row in rows)


def reverted_to(version: MemoryRecord) -> Replace:
    """A change that brings back what a version was."""
    return lambda current: replace(current, **{field: getattr(version, field) for field in REVERTED})


def forgotten(current: MemoryRecord) -> MemoryRecord:
    """A change that forgets a memory; it can be restored until it is erased."""
    return replace(current, deleted_at=current.deleted_at or datetime.now(UTC))


def restored(current: MemoryRecord) -> MemoryRecord:
    """A change that undoes forgetting, archiving or being superseded."""
    return replace(current, deleted_at=None, status="active", superseded_by=None, merged_into=None)


def edited(changes: dict[str, Any]) -> Replace:
    """A change that sets some fields."""
    if not changes:
        raise InvalidInputError("Nothing to change: name at least one field.")
    return lambda current: replace(current, **changes)


def retagged(add: Sequence[str], remove: Sequence[str]) -> Replace:
    """A change that adds and removes tags."""
    return lambda current: replace(current, tags=tuple(sorted((set(current.tags) | set(add)) - set(remove))))


async def _read(transaction: Transaction, owner: str, memory_id: UUID) -> MemoryRecord:
    row = await transaction.first("memories.get", {"owner": owner, "memory_id": memory_id})
    if row is None:
        raise _not_found(memory_id)
    return MemoryRecord.from_row(row)


def _version(row: dict[str, Any]) -> MemoryRecord:
    return MemoryRecord.from_row({name: value for name, value in row.items() if name != "known_until"})


def _columns(new: MemoryRecord, changed_by: ChangedBy, reason: str | None) -> dict[str, Any]:
    return {
        **asdict(new),
        "tags": list(new.tags),
        "evidence": list(new.evidence),
        "metadata": as_jsonb_object("metadata", new.metadata),
        "changed_by": changed_by,
        "change_reason": reason,
    }


def _changed_meanwhile(memory_id: UUID) -> ConflictError:
    return ConflictError(f"The memory {memory_id} was changed by somebody else. Read it again and retry.")


def _not_found(memory_id: UUID) -> NotFoundError:
    return NotFoundError(f"There is no memory {memory_id} of this owner.")
