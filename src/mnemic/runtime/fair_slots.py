"""Slots for work that takes much CPU time: bounded in all and for each tenant, so that none takes all.

A tenant may use half of the slots, at least one. With one slot, tenants take turns: one call of each waits
for the slot, its other calls wait behind that one, and all queues are in the order of arrival. A tenant that
has `WAITING_MAX` calls waiting gets TooManyRequestsError for the next one.

Work in a process of its own is not free for others: at whatever priority it runs, it takes caches, memory
bandwidth and time in the kernel. So slots may *rest*: as long as other tenants call, a tenant's next call
begins only when its last one has been over for as long as it took.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic
from uuid import UUID

from mnemic.errors import TooManyRequestsError

WAITING_MAX = 100
"""Calls of one tenant that wait or work: each holds its input in memory."""
RETRY_AFTER_S = 10.0
REST_MAX_S = 30.0


class FairSlots:
    """Not thread-safe: everything happens in one event loop."""

    def __init__(
        self, count: int, *, what: str, rests: Callable[[UUID], bool] = lambda tenant_id: False
    ) -> None:
        """`what` completes messages: "documents". `rests` says whether a tenant has to rest now."""
        self._what = what
        self._all = asyncio.Semaphore(count)
        self._per_tenant = max(1, count // 2)
        self._tenants: dict[UUID, asyncio.Semaphore] = {}
        self._calls: dict[UUID, int] = {}
        self._rests = rests
        self._rest_until_s: dict[UUID, float] = {}

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
            async with own:
                await self._rest(tenant_id)
                async with self._all:
                    began_s = monotonic()
                    try:
                        yield
                    finally:
                        self._begin_rest(tenant_id, monotonic() - began_s)
        finally:
            self._calls[tenant_id] -= 1
            if not self._calls[tenant_id]:
                del self._calls[tenant_id], self._tenants[tenant_id]

    async def _rest(self, tenant_id: UUID) -> None:
        left_s = self._rest_until_s.get(tenant_id, 0.0) - monotonic()
        if left_s > 0 and self._rests(tenant_id):
            await asyncio.sleep(left_s)

    def _begin_rest(self, tenant_id: UUID, worked_s: float) -> None:
        rest_s = min(worked_s, REST_MAX_S)
        until_s = self._rest_until_s[tenant_id] = monotonic() + rest_s
        asyncio.get_running_loop().call_later(rest_s, self._end_rest, tenant_id, until_s)

    def _end_rest(self, tenant_id: UUID, until_s: float) -> None:
        """Forget a rest that is over, unless another one has begun since."""
        if self._rest_until_s.get(tenant_id) == until_s:
            del self._rest_until_s[tenant_id]
