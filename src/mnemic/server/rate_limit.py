"""Rate limit of recall: one token bucket for each API key and for each tenant, in this process.

A bucket refills at a steady rate up to the size of a burst. Several servers over one database each have their
own buckets.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from time import monotonic
from uuid import UUID

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
    """The buckets of all holders: API keys, or tenants. Not thread-safe."""

    def __init__(
        self, per_minute: int, *, holder: str = "This API key", clock: Callable[[], float] = monotonic
    ) -> None:
        self._holder = holder
        self._per_s = per_minute / MINUTE_S
        self._size = max(1.0, self._per_s * BURST_S)
        self._clock = clock
        self._buckets: OrderedDict[UUID, TokenBucket] = OrderedDict()

    def take(self, holder_id: UUID) -> dict[str, str]:
        """Consume one call of a key or tenant; returns the headers that say how many are left.

        TooManyRequestsError if there is none. A rate of 0 means no limit.
        """
        if self._per_s == 0:
            return {}
        bucket = self._filled(holder_id)
        if bucket.left < 1:
            raise TooManyRequestsError(
                f"{self._holder} may recall {self._per_s * MINUTE_S:.0f} times a minute. Wait a little.",
                retry_after_s=(1 - bucket.left) / self._per_s,
            )
        bucket.left -= 1
        return {
            "RateLimit-Limit": str(int(self._size)),
            "RateLimit-Remaining": str(int(bucket.left)),
            "RateLimit-Reset": str(ceil((self._size - bucket.left) / self._per_s)),
        }

    def _filled(self, holder_id: UUID) -> TokenBucket:
        now_s = self._clock()
        bucket = self._buckets.setdefault(holder_id, TokenBucket(self._size, now_s))
        self._buckets.move_to_end(holder_id)
        if len(self._buckets) > BUCKETS_MAX:
            self._buckets.popitem(last=False)
        bucket.left = min(self._size, bucket.left + (now_s - bucket.at_s) * self._per_s)
        bucket.at_s = now_s
        return bucket
