"""The part "outdated" of a score: of two candidates about the same, the newer one ranks above the older one.

The newer candidate takes the place of the older one: it gets at least what the other parts give the older
one, within `LIFT_MAX`, and the older one loses. A query that asks for the past ("used to", "originally")
turns both around.
"""

from collections.abc import Mapping

import numpy as np

from mnemic.recall.candidates.outdated import OutdatedCandidate
from mnemic.recall.candidates.pool import CandidatePool
from mnemic.recall.lexical_score import Floats

PENALTY = 5.0
"""What the candidate that was not asked for loses, times the certainty of the mark."""
LIFT_MAX = 20.0
"""The most that the other one gains."""
CHAIN_MAX = 10
"""How many marks are followed from a memory to the newest one."""


def outdated_part(pool: CandidatePool, fused: Floats, *, asks_for_past: bool) -> Floats:
    """What being outdated, or outdating another candidate, adds to each candidate's score."""
    part = np.zeros(len(pool))
    for older, mark in pool.outdated.items():
        newest = _newest(pool.outdated, older)
        wanted, other = (older, newest) if asks_for_past else (newest, older)
        part[wanted] = max(part[wanted], min(float(fused[other] - fused[wanted]), LIFT_MAX))
        part[other] = min(part[other], -PENALTY * mark.certainty)
    return part


def _newest(outdated: Mapping[int, OutdatedCandidate], index: int) -> int:
    """The candidate at the end of the marks from one candidate on, which none outdates."""
    for _ in range(CHAIN_MAX):
        if index not in outdated:
            break
        index = outdated[index].newer
    return index
