"""Who of the workers is dead.

A worker counts its heartbeats up in the database. Others who look every few seconds take it for dead when
it has not been heard of for `DEAD_AFTER_S`; and never on the word of the server's clock alone, which may
jump, or have gone on while the database was down: somebody must have watched it being silent for
`WATCHED_S` by a clock of his own. Whoever watched for all of `DEAD_AFTER_S` needs no other clock.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass

DEAD_AFTER_S = 15.0
WATCHED_S = 5.0


@dataclass(frozen=True)
class Sign:
    """What is known of a worker: how often it has beaten, and for how long not, by the server's clock."""

    worker: str
    beats: int
    silent_s: float


@dataclass(frozen=True)
class _Seen:
    beats: int
    since_s: float


class Witness:
    """Remembers since when each worker has been silent."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}

    def dead_among(self, signs: Iterable[Sign], *, now_s: float | None = None) -> list[Sign]:
        """Those of all workers that are dead."""
        now_s = time.monotonic() if now_s is None else now_s
        seen: dict[str, _Seen] = {}
        dead = []
        for sign in signs:
            before = self._seen.get(sign.worker)
            known = before if before is not None and before.beats == sign.beats else _Seen(sign.beats, now_s)
            seen[sign.worker] = known
            watched_s = now_s - known.since_s
            if watched_s >= DEAD_AFTER_S or (watched_s >= WATCHED_S and sign.silent_s >= DEAD_AFTER_S):
                dead.append(sign)
        self._seen = seen
        return dead
