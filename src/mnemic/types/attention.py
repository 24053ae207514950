"""What of a tenant wants the attention of a person."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

ConcernKind = Literal[
    "disk",
    "dead_jobs",
    "failing_schedules",
    "late_jobs",
    "spend",
    "unfinished_acts",
    "missing_vectors",
    "late_consolidation",
]
"""In the order of urgency.

- `disk`: the disk of the embedded server is nearly full.
- `dead_jobs`: jobs that failed all their attempts.
- `failing_schedules`: schedules that were paused because of an error, or whose last job is dead.
- `late_jobs`: jobs that have been due for long: no worker runs, or too few do.
- `spend`: calls of language models have nearly reached a spend cap.
- `unfinished_acts`: acts of the audit log that began and have no outcome: they were interrupted.
- `missing_vectors`: memories that lexical search alone finds, since they could not be embedded yet.
- `late_consolidation`: consolidation is due and has not run for a day, so that nothing is learnt.
"""
CONCERN_KINDS: tuple[ConcernKind, ...] = get_args(ConcernKind)

COUNT_MAX = 1_000
"""Counting stops here, so that it stays cheap."""


@dataclass(frozen=True, slots=True)
class Concern:
    """One thing that wants attention.

    `count` says how many there are; if it is `COUNT_MAX`, there may be more. `oldest_at` is since when,
    where that is known. `share` is how full the disk is, or how much of a spend cap is used.
    """

    kind: ConcernKind
    count: int
    oldest_at: datetime | None = None
    share: float | None = None
