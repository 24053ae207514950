"""Close sessions: on demand, and those that were idle for a day. Useful objects become memories."""

from collections.abc import AsyncIterator
from uuid import UUID

from mnemic.context.changing import no_session
from mnemic.context.description import describe_missing
from mnemic.context.learning import PROCESS, learn
from mnemic.context.sessions import get_session
from mnemic.context.store import place_of
from mnemic.db.connection import Row
from mnemic.errors import NotFoundError
from mnemic.runtime.core import Caller, Core
from mnemic.types.context import ClosedContext
from mnemic.types.scope import Scope

IDLE_S = 24 * 60 * 60
"""A session that was not used for so long is closed."""
PAGE_ROWS = 100

_FIRST_ID = UUID(int=0)


async def close(caller: Caller, scope: Scope, session: str) -> ClosedContext:
    """Close a session and learn from it; NotFoundError if the owner has none of this name."""
    found = await get_session(caller.database, scope, session)
    async with caller.database.transaction() as transaction:
        if await transaction.first("context_sessions.close", place_of(scope, session)) is None:
            raise no_session(session)
    await describe_missing(caller.database, scope, session)
    # Memories belong to the channel of the session, in whatever channel it is closed.
    memory_ids = await learn(caller.core, scope.narrowed(channel=found.channel), session)
    return ClosedContext(await get_session(caller.database, scope, session), memory_ids)


async def close_idle(core: Core, owner: str | None = None, *, idle_s: float = IDLE_S) -> dict[str, int]:
    """Close the idle sessions of all owners, or of one; returns how many, and how many memories they left."""
    counts = {"closed_count": 0, "memory_count": 0}
    async for row in _idle(core, owner, idle_s):
        scope = Scope(row["owner"], row["channel"], PROCESS)
        try:
            closed = await close(Caller(core, scope), scope, row["session"])
        except NotFoundError:
            continue  # Deleted since the list was read.
        counts["closed_count"] += 1
        counts["memory_count"] += len(closed.memory_ids)
    return counts


async def _idle(core: Core, owner: str | None, idle_s: float) -> AsyncIterator[Row]:
    after = _FIRST_ID
    while True:
        parameters = {"owner": owner, "idle_s": idle_s, "after": after, "limit": PAGE_ROWS}
        async with core.storage.tenant_database.transaction() as transaction:
            rows = await transaction.rows("context_sessions.idle", parameters)
        for row in rows:
            yield row
        if len(rows) < PAGE_ROWS:
            return
        after = rows[-1]["session_id"]
