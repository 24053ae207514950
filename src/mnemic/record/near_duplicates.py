"""Compare memories after they are stored: find near duplicates and outdated memories.

No result of `retain` depends on them, so a new memory is only listed, in `queue.deduplication_backlog`
(docs/adr/0018-compared-later.md). A background task compares a few after a pause in writing
(`retain/comparing.py`), a call that lists pairs compares pending memories first, and a daily job compares the
rest. Each batch is a transaction of its own, so that a killed process loses nothing.
"""

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.record.outdated_memories import NEIGHBOURS_MAX, STATEMENT_MAX_BYTES, mark_outdated

# Pairs with at least this similarity are listed. They are never merged automatically.
NEAR_DUPLICATE_COSINE = 0.95
# How many memories of the owner one is compared with: those stored before it, and those stored after it that
# were compared before its transaction committed.
BEFORE_MAX_ROWS = 2_000
AFTER_MAX_ROWS = 200
BATCH_ROWS = 100
# Limit per call that lists near duplicates, most of a second. After a large import the next call or the daily
# job compares the rest.
CALL_MAX_ROWS = 2_000


async def compare_pending(
    database: TenantDatabase, *, owner: str | None = None, max_rows: int | None = CALL_MAX_ROWS
) -> int:
    """Compare pending memories, of one owner or of all; returns how many.

    Stops after about `max_rows` memories; None means no limit.
    """

    async def compare(transaction: Transaction) -> int | None:
        """Compare one batch of one owner; None if no memory is pending."""
        batch_owner = owner
        if batch_owner is None:
            row = await transaction.first("near_duplicates.next_owner")
            batch_owner = row["owner"] if row is not None else None
        return await _compare_batch(transaction, batch_owner) if batch_owner is not None else None

    compared = 0
    while max_rows is None or compared < max_rows:
        count = await database.run(compare)
        if count is None or (owner is not None and count < BATCH_ROWS):
            return compared + (count or 0)
        compared += count
    return compared


async def _compare_batch(transaction: Transaction, owner: str) -> int:
    parameters = {
        "tenant_id": transaction.tenant.id,
        "owner": owner,
        "before_most": BEFORE_MAX_ROWS,
        "after_most": AFTER_MAX_ROWS,
    }
    pending = await transaction.rows(
        "near_duplicates.pending",
        {
            **parameters,
            "statement_most": STATEMENT_MAX_BYTES,
            "near_most": NEIGHBOURS_MAX,
            "most": BATCH_ROWS,
        },
    )
    await mark_outdated(transaction, owner, pending)
    ids = [row["memory_id"] for row in pending]
    await transaction.one(
        "near_duplicates.compare", {**parameters, "ids": ids, "alike_from": NEAR_DUPLICATE_COSINE}
    )
    return len(ids)
