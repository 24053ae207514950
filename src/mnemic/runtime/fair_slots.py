"""Slots for work that takes much CPU time: bounded in all and for each tenant, so that none takes all.

A tenant may use half of the slots, at least one. With one slot, tenants take turns: one call of each waits
for the slot, its other calls wait behind that one, and all queues are in the order of arrival. A tenant that
has `WAITING_MAX` calls waiting gets TooManyRequestsError for the next one.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from mnemic.errors import TooManyRequestsError

WAITING_MAX = 100
"""Calls of one tenant that wait or work: each holds its input in memory."""
RETRY_AFTER_S = 10.0


class FairSlots:
    """Not thread-safe: everything happens in one event loop."""

    def __init__(self, count: int, *, what: str) -> None:
        """`what` completes messages: "documents"."""
        self._what = what
        self._all = asyncio.Semaphore(count)
        self._per_tenant = max(1, count // 2)
        self._tenants: dict[UUID, asyncio.Semaphore] = {}
        self._calls: dict[UUID, int] = {}

    @asynccontextmanager
    async def slot(self, tenant_id: UUID) -> AsyncIterator[None]:
        """Wait for a slot and use it during the block."""
        calls = self._calls.get(tenant_id, 0)
        if calls >= WAITING_MAX:
            raise TooManyRequestsError(
                f"{calls} {self._what} of this tenant are being worked on or wait for it. Try again later.",
                retry_after_s=RETRY_AFTER_S,
            )
        self._calls[tenant_id] = calls + 1
        own = self._tenants.setdefault(tenant_id, asyncio.Semaphore(self._per_tenant))
        try:
            # The tenant's own slot comes first: only calls that may start compete for the shared ones.
            async with own, self._all:
                yield
        finally:
            self._calls[tenant_id] -= 1
            if not self._calls[tenant_id]:
                del self._calls[tenant_id], self._tenants[tenant_id]
