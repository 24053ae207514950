"""Compare new memories soon after they are stored, when nobody writes.

Comparing takes about as much CPU time as storing, so that it waits for a pause in the writing of this
process, and then takes few memories. After a large import the daily job compares the rest.
"""

import asyncio
from functools import partial

from mnemic.record.near_duplicates import compare_pending
from mnemic.runtime.core import Core

PAUSE_S = 0.25
"""A pause in writing: no `retain` ended for so long."""
PAUSES_MAX = 20
"""Under constant writing, compare after so many pauses that were none."""
COMPARED_MAX_ROWS = 200


def request_comparison(core: Core, owner: str) -> None:
    """Have a background task compare the owner's new memories."""
    core.background_tasks.request(("comparison", owner), partial(_compare_after_a_pause, core, owner))


async def _compare_after_a_pause(core: Core, owner: str) -> None:
    for _ in range(PAUSES_MAX):
        count = _retain_count(core)
        await asyncio.sleep(PAUSE_S)
        if _retain_count(core) == count:
            break
    await compare_pending(core.storage.tenant_database, owner=owner, max_rows=COMPARED_MAX_ROWS)


def _retain_count(core: Core) -> int:
    return core.call_metrics.latency("retain").call_count
