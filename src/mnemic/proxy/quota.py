"""A resource that the callers of the proxy share, bounded in all and for each tenant."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from mnemic.proxy.errors import ProxyError

RETRY_AFTER_S = 1.0


@dataclass
class TenantQuota:
    """What is in use. Not thread-safe: everything happens in one event loop."""

    what: str
    """Completes a message: "requests in progress"."""
    total_max: int
    tenant_max: int
    _used: Counter[str] = field(default_factory=Counter)
    _total: int = 0

    @contextmanager
    def held(self, tenant: str, amount: int = 1) -> Iterator[None]:
        """Take an amount for the time of a block; ProxyError (429) if it is more than is left."""
        with self.growing(tenant) as take:
            take(amount)
            yield

    @contextmanager
    def growing(self, tenant: str) -> Iterator[Callable[[int], None]]:
        """A function that takes an amount more for the time of the block; ProxyError (429) as above."""
        taken = 0

        def take(amount: int) -> None:
            nonlocal taken
            self._check(tenant, amount)
            taken += amount
            self._used[tenant] += amount
            self._total += amount

        try:
            yield take
        finally:
            self._total -= taken
            self._used[tenant] -= taken
            if not self._used[tenant]:
                del self._used[tenant]

    def _check(self, tenant: str, amount: int) -> None:
        if self._used[tenant] + amount > self.tenant_max:
            holder, limit = "This tenant", self.tenant_max
        elif self._total + amount > self.total_max:
            holder, limit = "The proxy", self.total_max
        else:
            return
        raise ProxyError(
            429,
            f"{holder} has as many {self.what} as it may have: {limit:,}. Try again later.",
            retry_after_s=RETRY_AFTER_S,
        )
