"""Background work that makes the next recall of a large owner faster: word statistics and a vector index."""

from collections.abc import Sequence
from functools import partial

from mnemic.db.database import Transaction
from mnemic.embeddings.indexes import index_owner
from mnemic.recall.candidates.pool import CandidatePool
from mnemic.runtime.core import Core


def request_index_maintenance(core: Core, pools: Sequence[CandidatePool]) -> None:
    """Have background tasks create or refresh what the searches of these pools lacked."""
    for pool in pools:
        owner = pool.readable.owner
        if pool.lacks_word_statistics:
            core.background_tasks.request(
                ("word statistics", owner), partial(refresh_word_statistics, core, owner)
            )
        if pool.lacks_vector_index:
            core.background_tasks.request(("vector index", owner), partial(index_owner, core, owner))


async def refresh_word_statistics(core: Core, owner: str) -> int:
    """Count an owner's memories and words again; returns the number of memories."""

    async def refresh(transaction: Transaction) -> int:
        row = await transaction.one("recall.refresh_statistics", {"owner": owner})
        return int(row["memory_count"])

    return await core.storage.tenant_database.run(refresh)
