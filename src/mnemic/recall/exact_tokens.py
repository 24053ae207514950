"""Exact rare tokens: a memory that has the code which a query names is probably the one that is meant.

A code is a term with letters and digits ("e55") or a number of four digits or more that is no year ("2231" of
"SKU-2231"), and it is rare if at most `RARE_SHARE` of the memories have it, or `RARE_COUNT` of a small
owner's. An ordinal ("10th") is a word of any text, not a code.
"""

import re

import numpy as np

from mnemic.recall.candidates.pool import CandidatePool
from mnemic.recall.lexical_score import Floats

RARE_SHARE = 0.02
RARE_COUNT = 3

_CODE = re.compile(
    r"(?!\d{1,4}(?:st|nd|rd|th)$)(?=.{0,60}\d)(?=.{0,60}[^\W\d_]).{2,60}"
    r"|-\d{1,30}|(?!(?:19|20)\d\d$)\d{4,30}",
    re.DOTALL,
)


def exact_tokens(pool: CandidatePool) -> Floats:
    """The share of the query's rare codes that each candidate has; 0 if the query has none."""
    places = _rare_codes(pool)
    if not places:
        return np.zeros(len(pool))
    return np.array([sum(bits >> place & 1 for place in places) / len(places) for bits in pool.terms], float)


def _rare_codes(pool: CandidatePool) -> list[int]:
    lexical = pool.lexical
    rare_max = max(RARE_SHARE, RARE_COUNT / max(lexical.terms.weighed_count, 1))
    return [
        place
        for place, (lexeme, share) in enumerate(zip(lexical.terms.lexemes, lexical.shares, strict=True))
        if 0 < share <= rare_max and _CODE.fullmatch(lexeme)
    ]
