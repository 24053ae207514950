"""Which tenants have made calls of late, in this process: whether the work of one may delay others."""

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from uuid import UUID

RECENT_S = 1.0
TENANTS_MAX = 2
"""The last two tenants: one of them is another tenant than any given one."""


class RecentTenants:
    """Not thread-safe: everything happens in one event loop."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._called_at_s: OrderedDict[UUID, float] = OrderedDict()

    def note(self, tenant_id: UUID) -> None:
        """A tenant makes a call."""
        self._called_at_s[tenant_id] = self._clock()
        self._called_at_s.move_to_end(tenant_id)
        if len(self._called_at_s) > TENANTS_MAX:
            self._called_at_s.popitem(last=False)

    def has_others(self, tenant_id: UUID) -> bool:
        """Whether another tenant has made a call within `RECENT_S`."""
        since_s = self._clock() - RECENT_S
        return any(at_s >= since_s for other, at_s in self._called_at_s.items() if other != tenant_id)
