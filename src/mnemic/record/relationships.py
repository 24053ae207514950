"""Relationships between memories, pairs of near duplicates, and outdated memories."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from mnemic.db.database import TenantDatabase
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.record.near_duplicates import compare_pending
from mnemic.record.outdated_memories import OutdatedMemory
from mnemic.types.memory import MemoryRelationship, RelationshipKind
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope

Decision = Literal["distinct", "merged"]


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """Two memories with similar vectors; `decision` is `pending` until a caller decides."""

    memory_id: UUID
    like_id: UUID
    similarity: float
    decision: str
    found_at: datetime


async def relate(
    database: TenantDatabase,
    scope: Scope,
    from_id: UUID,
    to_id: UUID,
    kind: RelationshipKind,
    *,
    confidence: float,
) -> MemoryRelationship:
    """Relate two memories of the owner; relating them again updates the confidence."""
    if from_id == to_id:
        raise InvalidInputError("A memory cannot be related to itself.")
    parameters = {
        "owner": scope.require_owner(),
        "from_id": from_id,
        "to_id": to_id,
        "kind": kind,
        "confidence": confidence,
        "process": scope.process,
    }
    async with database.transaction() as transaction:
        row = await transaction.first("memories.relate", parameters)
    if row is None:
        raise NotFoundError(f"There is no memory {from_id} or no memory {to_id} of this owner.")
    return MemoryRelationship(**row)


async def list_related(
    database: TenantDatabase,
    scope: Scope,
    memory_id: UUID,
    *,
    kinds: Sequence[str] | None,
    limit: int,
) -> list[MemoryRelationship]:
    """Relationships from and to a memory, oldest first."""
    parameters = {
        "owner": scope.require_owner(),
        "memory_id": memory_id,
        "kinds": list(kinds) if kinds is not None else None,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [MemoryRelationship(**row) for row in await transaction.rows("memories.related", parameters)]


async def list_near_duplicates(database: TenantDatabase, scope: Scope, *, limit: int) -> list[NearDuplicate]:
    """Pairs that await a decision, oldest first, after pending memories of the owner are compared."""
    parameters = {"owner": scope.require_owner(), "limit": check_limit(limit)}
    await compare_pending(database, owner=scope.require_owner())
    async with database.transaction() as transaction:
        return [
            NearDuplicate(**row) for row in await transaction.rows("memories.near_duplicates", parameters)
        ]


async def decide_near_duplicate(
    database: TenantDatabase, scope: Scope, memory_id: UUID, like_id: UUID, decision: Decision
) -> None:
    """Record a decision about a pair."""
    parameters = {
        "owner": scope.require_owner(),
        "memory_id": memory_id,
        "like_id": like_id,
        "decision": decision,
    }
    async with database.transaction() as transaction:
        if not await transaction.execute("memories.decide_near_duplicate", parameters):
            raise NotFoundError(f"The memories {memory_id} and {like_id} are not listed as near duplicates.")


async def list_outdated(
    database: TenantDatabase, scope: Scope, memory_id: UUID | None, *, limit: int
) -> list[OutdatedMemory]:
    """Marks of the owner's memories or of one, newest first, after pending memories are compared."""
    parameters = {"owner": scope.require_owner(), "memory_id": memory_id, "limit": check_limit(limit)}
    await compare_pending(database, owner=scope.require_owner())
    async with database.transaction() as transaction:
        rows = await transaction.rows("outdated_memories.list", parameters)
    return [OutdatedMemory(**row) for row in rows]
