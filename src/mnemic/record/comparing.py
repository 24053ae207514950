"""Finding memories that look alike, after they were stored (docs/adr/0018-compared-later.md).

Nothing that `retain` returns depends on it, so nobody waits for it there: what is stored waits in
`queue.deduplication_backlog`. Whoever asks for near duplicates has them looked for first, and a daily job
looks for what nobody asked for. A batch is a transaction of its own, so that killing one loses nothing.
"""

from mnemic.db.database import TenantDatabase, Transaction

# Two memories this close in meaning are shown to somebody; they are never merged by themselves.
NEAR_DUPLICATE_COSINE = 0.95
# With how many of the owner's memories one is compared: those that were stored before it, and those after it
# that were compared before it could be seen.
BEFORE_MAX_ROWS = 2_000
AFTER_MAX_ROWS = 200
BATCH_ROWS = 100
# How many are compared at most before somebody gets a list: most of a second. After a large import the rest
# is left to the next call, or to the daily job.
ASKED_MAX_ROWS = 2_000


async def compare_waiting(
    database: TenantDatabase, *, owner: str | None = None, most: int | None = ASKED_MAX_ROWS
) -> int:
    """Compare what waits, of one owner or of all; returns how many memories that were.

    It ends after about `most`; None lets it go on until none waits.
    """

    async def compare(transaction: Transaction) -> int | None:
        """How many of somebody's were compared; None if nobody's wait."""
        whose = owner
        if whose is None:
            row = await transaction.first("comparing.next_owner")
            whose = row["owner"] if row is not None else None
        return await _compare_some(transaction, whose) if whose is not None else None

    compared = 0
    while most is None or compared < most:
        count = await database.run(compare)
        if count is None or (owner is not None and count < BATCH_ROWS):
            return compared + (count or 0)
        compared += count
    return compared


async def _compare_some(transaction: Transaction, owner: str) -> int:
    parameters = {
        "tenant_id": transaction.tenant.id,
        "owner": owner,
        "alike_from": NEAR_DUPLICATE_COSINE,
        "before_most": BEFORE_MAX_ROWS,
        "after_most": AFTER_MAX_ROWS,
        "most": BATCH_ROWS,
    }
    return int((await transaction.one("comparing.compare", parameters))["compared_count"])
