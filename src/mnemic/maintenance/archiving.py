"""Archive memories in batches through the change log, so that each batch can be shown and undone."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.record.changesets import MemoryChange, stage_and_apply
from mnemic.types.scope import Scope

CHANNEL = "_global"
PROCESS = "maintenance"


async def archive(
    database: TenantDatabase, query_name: str, parameters: Mapping[str, Any], reason: str, batch_rows: int
) -> int:
    """Archive the memories that a query finds, until it finds none; returns how many.

    The query locks at most `limit` memories and returns their ids and owners. Of a long text it returns the
    first chunk, with which all chunks are archived, and their number.
    """

    async def archive_batch(transaction: Transaction) -> tuple[int, int]:
        rows = await transaction.rows(query_name, {**parameters, "limit": batch_rows})
        owned = defaultdict[str, list[UUID]](list)
        for row in rows:
            owned[row["owner"]].append(row["memory_id"])
        for owner, memory_ids in owned.items():
            await _archive(transaction, owner, memory_ids, reason)
        return len(rows), sum(row["memory_count"] for row in rows)

    total = 0
    while True:
        row_count, memory_count = await database.run(archive_batch)
        total += memory_count
        if row_count < batch_rows:
            return total


async def _archive(transaction: Transaction, owner: str, memory_ids: list[UUID], reason: str) -> None:
    changes = [MemoryChange(memory_id, "archive", {"status": "archived"}, reason) for memory_id in memory_ids]
    scope = Scope(owner, CHANNEL, PROCESS)
    await stage_and_apply(transaction, scope, changes, purpose="cleanup", reason=reason)
