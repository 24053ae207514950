"""Erase an owner, or archive its memories.

Erasing leaves nothing: the database finds every table that holds rows of owners
(`mnemic.erase_owner`). The audit log records the act and the row counts, under the id of the
receipt and without the owner's name.
"""

from datetime import UTC, datetime

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.govern.audit import audited, nobodys
from mnemic.types.identity import new_id
from mnemic.types.receipt import ErasureMode, ErasureReceipt
from mnemic.types.scope import Scope


async def erase_owner(database: TenantDatabase, scope: Scope, *, mode: ErasureMode) -> ErasureReceipt:
    """Erase or archive everything of the owner; an unknown owner gets a receipt of zeros."""
    owner = scope.require_owner()
    receipt_id = new_id()
    async with audited(database, nobodys(scope), action=f"{mode}_owner", target=str(receipt_id)) as act:

        async def work(transaction: Transaction) -> dict[str, int]:
            await transaction.extend_timeout()
            await transaction.execute("owners.hold_conversations", {"owner": owner})
            rows = await (_erase if mode == "erase" else _archive)(transaction, owner)
            act.outcome(rows=rows)
            await act.commit_with(transaction)
            return rows

        rows = await database.run(work, maintenance=True)
    return ErasureReceipt(receipt_id, mode, rows, datetime.now(UTC))


async def _erase(transaction: Transaction, owner: str) -> dict[str, int]:
    rows = await transaction.rows("owners.erase", {"owner": owner})
    return {row["table_name"]: row["row_count"] for row in rows}


async def _archive(transaction: Transaction, owner: str) -> dict[str, int]:
    parameters = {"owner": owner}
    return {
        "state.memories": await transaction.execute("owners.archive_memories", parameters),
        "state.conversations": await transaction.execute("owners.archive_conversations", parameters),
    }
