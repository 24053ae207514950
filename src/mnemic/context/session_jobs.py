"""Jobs of context sessions: close idle ones every hour, delete old ones every day."""

from collections.abc import Awaitable, Callable

from mnemic.context.closing import close_idle
from mnemic.db.database import TenantDatabase
from mnemic.jobs.handlers import JsonValue, RunningJob
from mnemic.runtime.core import Core
from mnemic.runtime.job_types import DefaultSchedule, JobTable, JobType

HOUR_S = 60 * 60
BATCH_SESSIONS = 20
"""Sessions that are deleted in one transaction; each may have thousands of rows."""
BATCH_CONTENTS = 500
UNUSED_CONTENT_KEPT_S = 24 * 60 * 60
"""A full text that no object has any more is kept so long: a session that is being saved may need it."""


async def close_idle_sessions(core: Core, job: RunningJob) -> JsonValue:
    """`context.close_idle`: close sessions that were not used for a day, and learn from them."""
    return {**await close_idle(core, job.owner)}


async def prune(core: Core, job: RunningJob) -> JsonValue:
    """`context.prune`: delete sessions older than `context_retention_days`, and texts that nothing uses."""
    database, keep_days = core.storage.tenant_database, core.settings.context_retention_days
    return {
        "session_count": await _in_batches(
            lambda: prune_sessions(database, keep_days=keep_days), BATCH_SESSIONS
        ),
        "content_count": await _in_batches(lambda: prune_contents(database), BATCH_CONTENTS),
    }


async def prune_sessions(database: TenantDatabase, *, keep_days: int) -> int:
    """Delete some old sessions; returns how many."""
    parameters = {"keep_days": keep_days, "limit": BATCH_SESSIONS}
    return await database.run(lambda transaction: transaction.execute("context_sessions.prune", parameters))


async def prune_contents(database: TenantDatabase, *, kept_s: float = UNUSED_CONTENT_KEPT_S) -> int:
    """Delete some full texts that no object has any more; returns how many."""
    parameters = {"kept_s": kept_s, "limit": BATCH_CONTENTS}
    return await database.run(
        lambda transaction: transaction.execute("context_sessions.prune_contents", parameters)
    )


async def _in_batches(delete: Callable[[], Awaitable[int]], batch_rows: int) -> int:
    total = 0
    while True:
        count = await delete()
        total += count
        if count < batch_rows:
            return total


JOBS = JobTable(
    (
        JobType("context.close_idle", close_idle_sessions, DefaultSchedule("idle contexts", every_s=HOUR_S)),
        JobType("context.prune", prune, DefaultSchedule("old contexts")),
    )
)
