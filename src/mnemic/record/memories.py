"""Read and change single memories.

Every change locks the row, computes the new state from the old one and writes it. The database numbers the
new state and keeps the old one (`mnemic.keep_version`), so that every version can be restored. A change of
the content needs a new vector, which is computed before the transaction begins.

The chunks of a long text share their status and validity: a change of these is written to all of them. The
content of a single chunk never changes, so that the whole text stays what was retained.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.json_value import as_jsonb_object
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.types.checks import check_text
from mnemic.types.memory import CONTENT_MAX_CHARACTERS, TAGS_MAX, ChangedBy, MemoryRecord
from mnemic.types.scope import Scope

# A change of one of these fields makes a new version; reverting to a version restores them. The trigger
# `keep_version` and the query `memories.write` name the same columns.
VERSIONED_FIELDS = (
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

# The largest version number: a PostgreSQL int.
VERSION_MAX = 2**31 - 1

# Fields that all chunks of a long text share. The query `memories.write_shared` names the same columns.
SHARED_BY_CHUNKS = (
    "status",
    "superseded_by",
    "merged_into",
    "valid_from",
    "valid_to",
    "expires_at",
    "deleted_at",
)

Replace = Callable[[MemoryRecord], MemoryRecord]
Reembed = Callable[[MemoryRecord], Awaitable[Callable[[Transaction], Awaitable[None]]]]


async def get_memory(database: TenantDatabase, scope: Scope, memory_id: UUID) -> MemoryRecord:
    """One memory of the owner, whatever its status; NotFoundError if the owner has no such memory."""
    async with database.transaction() as transaction:
        return await read_memory(transaction, scope.require_owner(), memory_id)


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
    """Apply `change` to the memory and return its new state; a change without effect makes no version."""
    owner = scope.require_owner()
    seen = await get_memory(database, scope, memory_id)
    wanted = checked_change(seen, change)
    replace_vector = await reembed(wanted) if wanted.content != seen.content else None

    async def write(transaction: Transaction) -> MemoryRecord:
        await transaction.one("memories.lock", {"owner": owner, "memory_id": memory_id})
        current = await read_memory(transaction, owner, memory_id)
        new = checked_change(current, change)
        if new == current:
            return current
        if new.content != current.content and (replace_vector is None or new.content != wanted.content):
            raise _changed_meanwhile(memory_id)
        await write_state(transaction, current, new, changed_by, reason)
        if replace_vector is not None:
            await replace_vector(transaction)
        return await read_memory(transaction, owner, memory_id)

    return await database.run(write)


async def write_change(
    transaction: Transaction,
    seen: MemoryRecord,
    new: MemoryRecord,
    *,
    changed_by: ChangedBy,
    reason: str | None,
) -> None:
    """Replace the state `seen` by `new`; ConflictError if the memory was changed in the meantime."""
    key = {"owner": seen.owner, "memory_id": seen.memory_id}
    await transaction.one("memories.lock", key)
    if (await read_memory(transaction, seen.owner, seen.memory_id)).version != seen.version:
        raise _changed_meanwhile(seen.memory_id)
    await write_state(transaction, seen, new, changed_by, reason)


async def read_history(database: TenantDatabase, scope: Scope, memory_id: UUID) -> list[MemoryRecord]:
    """Every version of the memory, the first one first."""
    parameters = {"owner": scope.require_owner(), "memory_id": memory_id}
    async with database.transaction() as transaction:
        rows = await transaction.rows("memories.history", parameters)
    if not rows:
        raise _not_found(memory_id)
    return [MemoryRecord.from_row(row) for row in rows]


async def read_version(database: TenantDatabase, scope: Scope, memory_id: UUID, version: int) -> MemoryRecord:
    """One version of the memory."""
    if isinstance(version, bool) or not isinstance(version, int):
        raise InvalidInputError(f"version must be a whole number, not {type(version).__name__}.")
    if not 1 <= version <= VERSION_MAX:
        raise _no_version(memory_id, version)
    parameters = {"owner": scope.require_owner(), "memory_id": memory_id, "version": version}
    async with database.transaction() as transaction:
        row = await transaction.first("memories.version", parameters)
    if row is None:
        raise _no_version(memory_id, version)
    return MemoryRecord.from_row(row)


async def read_as_of(
    database: TenantDatabase, scope: Scope, memory_id: UUID, moment: datetime
) -> MemoryRecord | None:
    """The version that was current at a moment, or None if the memory did not exist then."""
    parameters = {"owner": scope.require_owner(), "memory_id": memory_id, "moment": moment}
    async with database.transaction() as transaction:
        row = await transaction.first("memories.as_of", parameters)
    return MemoryRecord.from_row(row) if row is not None else None


async def read_whole(database: TenantDatabase, scope: Scope, memory_id: UUID) -> str:
    """The text as it was retained, joined from its chunks."""
    parameters = {"owner": scope.require_owner(), "memory_id": memory_id}
    async with database.transaction() as transaction:
        rows = await transaction.rows("memories.whole", parameters)
    if not rows:
        raise _not_found(memory_id)
    return "".join(row["content"] for row in rows)


def reverted_to(version: MemoryRecord) -> Replace:
    """A change that restores the fields of an earlier version."""
    return lambda current: replace(current, **{field: getattr(version, field) for field in VERSIONED_FIELDS})


def forgotten(current: MemoryRecord) -> MemoryRecord:
    """The state of a memory that is forgotten; it can be restored until it is erased."""
    return replace(current, deleted_at=current.deleted_at or datetime.now(UTC))


def restored(history: Sequence[MemoryRecord]) -> Replace:
    """A change that makes a forgotten, archived or superseded memory active again.

    Superseding ended its validity, so `valid_to` comes from the last version before that.
    """
    before = next((version for version in reversed(history) if version.superseded_by is None), None)

    def change(current: MemoryRecord) -> MemoryRecord:
        source = before if before is not None and current.superseded_by is not None else current
        return replace(
            current,
            deleted_at=None,
            status="active",
            superseded_by=None,
            merged_into=None,
            valid_to=source.valid_to,
        )

    return change


def edited(changes: dict[str, Any]) -> Replace:
    """A change that sets some fields."""
    if not changes:
        raise InvalidInputError("Nothing to change: name at least one field.")
    return lambda current: replace(current, **changes)


def retagged(add: Sequence[str], remove: Sequence[str]) -> Replace:
    """A change that adds and removes tags."""

    def change(current: MemoryRecord) -> MemoryRecord:
        tags = (set(current.tags) | set(add)) - set(remove)
        if len(tags) > TAGS_MAX:
            raise InvalidInputError(
                f"tags: at most {TAGS_MAX} are allowed; it has {len(current.tags)} already."
            )
        return replace(current, tags=tuple(sorted(tags)))

    return change


def checked_change(current: MemoryRecord, change: Replace) -> MemoryRecord:
    """Apply a change and check what depends on the old state."""
    new = change(current)
    if new.content != current.content:
        check_text("content", new.content, max_characters=CONTENT_MAX_CHARACTERS)
        if current.whole_id is not None:
            raise InvalidInputError(
                f"The memory {current.memory_id} is part of a longer text, so its words cannot be changed "
                "alone. Supersede it with the new text."
            )
    if new.valid_from is not None and new.valid_to is not None and new.valid_to <= new.valid_from:
        raise InvalidInputError("valid_to must be after valid_from.")
    return new


async def write_state(
    transaction: Transaction,
    current: MemoryRecord,
    new: MemoryRecord,
    changed_by: ChangedBy,
    reason: str | None,
) -> int:
    """Write a new state, and its shared fields to the other chunks of the text; returns the version.

    The caller has locked the memory, and `current` is its state.
    """
    columns = _columns(new, changed_by, reason)
    written = await transaction.one("memories.write", columns)
    if new.whole_id is not None and any(
        getattr(new, field) != getattr(current, field) for field in SHARED_BY_CHUNKS
    ):
        await transaction.execute("memories.write_shared", columns)
    return int(written["version"])


async def read_memory(transaction: Transaction, owner: str, memory_id: UUID) -> MemoryRecord:
    """The same as `get_memory`, inside a transaction."""
    row = await transaction.first("memories.get", {"owner": owner, "memory_id": memory_id})
    if row is None:
        raise _not_found(memory_id)
    return MemoryRecord.from_row(row)


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


def _no_version(memory_id: UUID, version: int) -> NotFoundError:
    return NotFoundError(f"The memory {memory_id} has no version {version} here.")


def _not_found(memory_id: UUID) -> NotFoundError:
    return NotFoundError(f"There is no memory {memory_id} of this owner.")
