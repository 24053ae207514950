"""Erase an owner, or archive its memories.

Erasing leaves nothing: the database finds every table that holds rows of owners
(`mnemic.erase_owner`). The audit log records the act and the row counts, under the id of the
receipt and without the owner's name.
"""

from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import NotFoundError
from mnemic.govern.audit import audited, without_owner
from mnemic.types.checks import check_id
from mnemic.types.identity import new_id
from mnemic.types.page import check_limit
from mnemic.types.receipt import ErasureMode, ErasureReceipt
from mnemic.types.scope import Scope


async def erase_owner(database: TenantDatabase, scope: Scope, *, mode: ErasureMode) -> ErasureReceipt:
    """Erase or archive everything of the owner; an unknown owner gets a receipt of zeros."""
    owner = scope.require_owner()
    receipt_id = new_id()
    async with audited(database, without_owner(scope), action=f"{mode}_owner", target=str(receipt_id)) as act:

        async def work(transaction: Transaction) -> ErasureReceipt:
            await transaction.extend_timeout()
            await transaction.execute("owners.hold_conversations", {"owner": owner})
            rows = await (_erase if mode == "erase" else _archive)(transaction, owner)
            act.outcome(rows=rows)
            await act.commit_with(transaction)
            (receipt,) = await _receipts(transaction, receipt_id=receipt_id)
            return receipt

        return await database.run(work, maintenance=True)


async def get_receipt(database: TenantDatabase, receipt_id: UUID | str) -> ErasureReceipt:
    """The receipt of an erasure, as the audit log has it; NotFoundError if there is none of that id."""
    checked = check_id("receipt_id", receipt_id)
    async with database.transaction() as transaction:
        found = await _receipts(transaction, receipt_id=checked)
    if not found:
        raise NotFoundError(f"There is no receipt {checked}. `memory.admin.receipts()` lists the receipts.")
    return found[0]


async def list_receipts(
    database: TenantDatabase, *, before: UUID | str | None, limit: int
) -> list[ErasureReceipt]:
    """Receipts, newest first; `before` is the id of the last one on the previous page."""
    place = check_id("before", before) if before is not None else None
    async with database.transaction() as transaction:
        return await _receipts(transaction, before=place, limit=check_limit(limit))


async def _receipts(
    transaction: Transaction, *, receipt_id: UUID | None = None, before: UUID | None = None, limit: int = 1
) -> list[ErasureReceipt]:
    parameters = {
        "receipt_id": str(receipt_id) if receipt_id is not None else None,
        "before": str(before) if before is not None else None,
        "limit": limit,
    }
    return [ErasureReceipt(**row) for row in await transaction.rows("audit.receipts", parameters)]


async def _erase(transaction: Transaction, owner: str) -> dict[str, int]:
    rows = await transaction.rows("owners.erase", {"owner": owner})
    return {row["table_name"]: row["row_count"] for row in rows}


async def _archive(transaction: Transaction, owner: str) -> dict[str, int]:
    parameters = {"owner": owner}
    return {
        "state.memories": await transaction.execute("owners.archive_memories", parameters),
        "state.conversations": await transaction.execute("owners.archive_conversations", parameters),
    }
