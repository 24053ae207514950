"""The part "derived" of a score: what was made from turns and notes ranks below what they say themselves.

Consolidation stores statements and summaries beside their sources. Both have words of many questions and no
context, so that they would take the places of the turns that answer: without this part, R@10 of LoCoMo falls
from .827 to .771 once its conversations are consolidated. A statement loses `STATEMENT_HANDICAP`, chosen
among 6, 9, 12 and 16 on every third question of LoCoMo: R@10 was lower by .008, .007, .002 and .002 than
without any statements. A summary repeats sentences that recall finds itself: it comes after everything else,
and first only where a filter leaves nothing else, for example `tags=["summary"]`.
"""

import numpy as np

from mnemic.recall.candidates.pool import CandidatePool
from mnemic.recall.lexical_score import Floats
from mnemic.types.statement import SUMMARY_TAG

STATEMENT_HANDICAP = 12.0
SUMMARY_HANDICAP = 60.0
"""More than the other parts give any candidate."""

_WRITTEN_TAG = f'"{SUMMARY_TAG}"'
"""The tag in a JSON list."""


def derived_part(pool: CandidatePool) -> Floats:
    """What being derived takes from each candidate's score."""
    part = np.zeros(len(pool))
    for index, (row, place) in enumerate(pool.origins):
        if row["source"][place] == "extracted":
            part[index] = -STATEMENT_HANDICAP
        elif row["source"][place] == "inferred" and _WRITTEN_TAG in (row["tags"][place] or ""):
            part[index] = -SUMMARY_HANDICAP
    return part
