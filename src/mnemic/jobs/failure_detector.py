"""The failure detector: which workers are dead.

A worker counts its heartbeats in the database, and every worker reads these counts every few seconds. A
worker is dead when it has sent no heartbeat for `DEAD_AFTER_S`. The server's clock alone is not trusted: it
can jump, and it runs on while the database is down. So an observer must itself have seen the same count for
`OBSERVED_S`, by its own monotonic clock. An observer that has seen it for all of `DEAD_AFTER_S` needs no
other clock.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass

DEAD_AFTER_S = 15.0
OBSERVED_S = 5.0


@dataclass(frozen=True)
class WorkerStatus:
    """A worker's heartbeat count, and the seconds since its last heartbeat by the server's clock."""

    worker: str
    beats: int
    silent_s: float


@dataclass(frozen=True)
class _Observed:
    beats: int
    since_s: float
    """When this count was first seen, by the monotonic clock."""


class FailureDetector:
    """Remembers for each worker since when its heartbeat count has been the same."""

    def __init__(self) -> None:
        self._observed: dict[str, _Observed] = {}

    def find_dead(self, workers: Iterable[WorkerStatus], *, now_s: float | None = None) -> list[WorkerStatus]:
        """The dead ones of all workers."""
        now_s = time.monotonic() if now_s is None else now_s
        observed: dict[str, _Observed] = {}
        dead = []
        for worker in workers:
            current = self._observed.get(worker.worker)
            if current is None or current.beats != worker.beats:
                current = _Observed(worker.beats, now_s)
            observed[worker.worker] = current
            observed_s = now_s - current.since_s
            if observed_s >= DEAD_AFTER_S or (observed_s >= OBSERVED_S and worker.silent_s >= DEAD_AFTER_S):
                dead.append(worker)
        self._observed = observed
        return dead
