"""The part "outdated" of a score: of two candidates about the same, the newer one ranks above the older one.

The newer candidate takes the place of the older one: it gets at least what the other parts give the older
one, within `LIFT_MAX`, and the older one loses; one that is surely outdated ranks below all others. A query
that asks for the past ("used to", "originally") turns both around, and nothing ranks below all others.
"""

from collections.abc import Mapping

import numpy as np

from mnemic.recall.candidates.outdated import OutdatedCandidate
from mnemic.recall.candidates.pool import CandidatePool
from mnemic.recall.lexical_score import Floats

PENALTY = 5.0
"""What the candidate that was not asked for loses, times the certainty of the mark."""
SURE_CERTAINTY = 0.8
"""From this certainty on, a query about the present gets the older one only if there is little else."""
SURE_PENALTY = 60.0
"""More than the other parts give any candidate."""
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
        is_buried = mark.certainty >= SURE_CERTAINTY and not asks_for_past
        part[other] = min(part[other], -SURE_PENALTY if is_buried else -PENALTY * mark.certainty)
    return part


def _newest(outdated: Mapping[int, OutdatedCandidate], index: int) -> int:
    """The candidate at the end of the marks from one candidate on, which none outdates."""
    for _ in range(CHAIN_MAX):
        if index not in outdated:
            break
        index = outdated[index].newer
    return index
