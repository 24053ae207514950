"""What the times that a query names say about a candidate: the part `time` of the ranking.

A candidate that happened in a window of the query is probably meant. How probably, depends on how many
others are in the window, too: a day with one memory is strong evidence, a year that holds half of them is
weak. People also tell later what happened, so a candidate soon after the window counts a little.
"""

import math

import numpy as np

from mnemic.recall.candidates.pool import CandidatePool
from mnemic.recall.lexical_score import Floats
from mnemic.recall.query_analysis import QueryAnalysis

# The logarithm of the odds that an answer is in a window that holds half of the candidates, and of the odds
# from which a narrower window is no stronger evidence.
HALF_LOG_ODDS = 5.0
FULL_LOG_ODDS = 7.0
TOLD_LATER = 0.5
"""The evidence of a candidate just after a window."""
LISTED_BY = frozenset(
    ("time", "role", "speaker", "salience", "usefulness", "confidence", "tense"),
)
"""The parts that rank the memories of a time if the query names no topic."""
DAY_S = 86_400.0
LATER_MAX_S = 7 * DAY_S
"""Behind a window, the evidence falls by a factor of e in the window's length, in a day to this time."""


def in_windows(happened_at_s: Floats, analysis: QueryAnalysis) -> Floats:
    """1 for each moment in a window that the query names, else 0."""
    inside = np.zeros(len(happened_at_s))
    for start, end in analysis.windows:
        inside = np.maximum(inside, (happened_at_s >= start) & (happened_at_s < end))
    return inside


def time_evidence(pool: CandidatePool, analysis: QueryAnalysis) -> Floats:
    """From 0 (far from every window) to 1 (in a window with few others)."""
    if not analysis.windows:
        return np.zeros(len(pool))
    inside = in_windows(pool.happened_at_s, analysis)
    return np.maximum(inside, _told_later(pool.happened_at_s, analysis)) * _selectivity(pool, inside)


def listed_by_time(
    features: dict[str, Floats], pool: CandidatePool, analysis: QueryAnalysis
) -> dict[str, Floats]:
    """A query of nothing but a time lists that time, newest first: its words say nothing about a topic."""
    inside = in_windows(pool.happened_at_s, analysis)
    if not analysis.lists_time or not inside.any():
        return features
    oldest_first = np.argsort(np.argsort(pool.happened_at_s, kind="stable"), kind="stable")
    kept = {name: part if name in LISTED_BY else np.zeros(len(pool)) for name, part in features.items()}
    return kept | {"newest first": oldest_first / len(pool) * inside}


def _told_later(happened_at_s: Floats, analysis: QueryAnalysis) -> Floats:
    later = np.zeros(len(happened_at_s))
    for start, end in analysis.windows:
        scale_s = min(max(end - start, DAY_S), LATER_MAX_S)
        behind_s = happened_at_s - end
        later = np.maximum(later, np.where(behind_s >= 0, np.exp(-np.maximum(behind_s, 0) / scale_s), 0.0))
    return TOLD_LATER * later


def _selectivity(pool: CandidatePool, inside: Floats) -> float:
    """From 0 to 1, less if more candidates are in the windows. Those found by their time do not count."""
    counted = np.array([found_by[0] not in ("time", "neighbours") for found_by in pool.found_by], bool)
    share = (float(inside[counted].sum()) + 0.5) / (counted.sum() + 1)
    log_odds = HALF_LOG_ODDS + math.log((1 - share) / share)
    return min(max(log_odds / FULL_LOG_ODDS, 0.0), 1.0)
