"""Rate limits: one token bucket for each API key, tenant or client address, in this process.

A bucket refills at a steady rate up to the size of a burst. Several servers over one database each have their
own buckets.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import ceil
from time import monotonic

from mnemic.errors import TooManyRequestsError

BUCKETS_MAX = 10_000
"""Buckets kept; the least recently used one is evicted, and its holder starts with a full bucket again."""
BURST_S = 10.0
"""A full bucket holds the calls of this many seconds."""
MINUTE_S = 60.0


@dataclass
class TokenBucket:
    """The calls left at a point in time."""

    left: float
    at_s: float


class RateLimiter:
    """The buckets of all holders: API keys, tenants, or addresses. Not thread-safe."""

    def __init__(
        self,
        per_minute: int,
        *,
        holder: str = "This API key",
        verb: str = "recall",
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._holder = holder
        self._verb = verb
        self._per_s = per_minute / MINUTE_S
        self._size = max(1.0, self._per_s * BURST_S)
        self._clock = clock
        self._buckets: OrderedDict[Hashable, TokenBucket] = OrderedDict()

    def take(self, holder_id: Hashable) -> dict[str, str]:
        """Consume one call of a holder; returns the headers that say how many are left.

        TooManyRequestsError if there is none. A rate of 0 means no limit.
        """
        if self._per_s == 0:
            return {}
        bucket = self.check(holder_id)
        bucket.left -= 1
        return {
            "RateLimit-Limit": str(int(self._size)),
            "RateLimit-Remaining": str(int(bucket.left)),
            "RateLimit-Reset": str(ceil((self._size - bucket.left) / self._per_s)),
        }

    def check(self, holder_id: Hashable) -> TokenBucket:
        """The bucket of a holder; TooManyRequestsError if it is empty. Nothing is consumed."""
        bucket = self._filled(holder_id)
        if self._per_s > 0 and bucket.left < 1:
            rate = f"{self._per_s * MINUTE_S:.0f} times a minute"
            raise TooManyRequestsError(
                f"{self._holder} may {self._verb} {rate}. Wait a little.",
                retry_after_s=(1 - bucket.left) / self._per_s,
            )
        return bucket

    def count(self, holder_id: Hashable) -> None:
        """Consume one call that was made already, if there is one left."""
        bucket = self._filled(holder_id)
        bucket.left = max(0.0, bucket.left - 1)

    def give_back(self, holder_id: Hashable) -> None:
        """Give one call back, which did not count after all."""
        bucket = self._filled(holder_id)
        bucket.left = min(self._size, bucket.left + 1)

    def _filled(self, holder_id: Hashable) -> TokenBucket:
        now_s = self._clock()
        bucket = self._buckets.setdefault(holder_id, TokenBucket(self._size, now_s))
        self._buckets.move_to_end(holder_id)
        if len(self._buckets) > BUCKETS_MAX:
            self._buckets.popitem(last=False)
        bucket.left = min(self._size, bucket.left + (now_s - bucket.at_s) * self._per_s)
        bucket.at_s = now_s
        return bucket
