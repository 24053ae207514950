"""A resource of the server that its clients share: bounded for all, for each tenant and for each API key.

One key cannot take what the other keys of its tenant need, and one tenant not what the other tenants need.
Requests in progress, bytes of bodies in memory and open streams of events have a quota each. Several servers
over one database each have their own.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mnemic.errors import TooManyRequestsError
from mnemic.govern.keys import AuthenticatedKey

SERVER = "server"


@dataclass(frozen=True)
class QuotaLimits:
    """How much there is, how much of it a tenant may take, and how much a key."""

    server: int
    tenant: int
    key: int


class Quota:
    """What is in use. Not thread-safe."""

    def __init__(self, what: str, limits: QuotaLimits, *, retry_after_s: float) -> None:
        """`what` completes messages: "open streams of events"."""
        self._what = what
        self._limits = limits
        self._retry_after_s = retry_after_s
        self._used: Counter[Hashable] = Counter()

    def take(self, found: AuthenticatedKey, amount: int = 1) -> None:
        """Take an amount for a key; TooManyRequestsError if it is more than is left."""
        self.check(found, amount)
        for holder, _, _ in self._bounds(found):
            self._used[holder] += amount

    def check(self, found: AuthenticatedKey, amount: int = 1) -> None:
        """TooManyRequestsError if an amount is more than is left for a key."""
        for holder, limit, name in self._bounds(found):
            if self._used[holder] + amount > limit:
                raise TooManyRequestsError(
                    f"{name} has as many {self._what} as it may have: {limit:,}. Try again later.",
                    retry_after_s=self._retry_after_s,
                )

    def give_back(self, found: AuthenticatedKey, amount: int = 1) -> None:
        """Give back what was taken."""
        for holder, _, _ in self._bounds(found):
            self._used[holder] -= amount
            if self._used[holder] == 0:
                del self._used[holder]

    @contextmanager
    def held(self, found: AuthenticatedKey, amount: int = 1) -> Iterator[None]:
        """Take an amount for the time of a block."""
        with self.growing(found) as take:
            take(amount)
            yield

    @contextmanager
    def growing(self, found: AuthenticatedKey) -> Iterator[Callable[[int], None]]:
        """A function that takes an amount more for the time of the block."""
        taken = 0

        def take(amount: int) -> None:
            nonlocal taken
            self.take(found, amount)
            taken += amount

        try:
            yield take
        finally:
            self.give_back(found, taken)

    def _bounds(self, found: AuthenticatedKey) -> tuple[tuple[Hashable, int, str], ...]:
        return (
            (found.key.key_id, self._limits.key, "This API key"),
            (found.tenant.id, self._limits.tenant, "The tenant of this API key"),
            (SERVER, self._limits.server, "This server"),
        )
