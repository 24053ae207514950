"""Whether Mnemic knows anything about a query at all.

Confidence is a logistic sum: the best cosine; how much the cosines of the owner's memories differ, since what
they are about is near to some of them and far from others, and everything else is about as far from all; how
much of the query's weight the memory with most of its words has, how much of it the owner's memories have
anywhere; less for an owner with many memories, among which something similar is always found. Cosines mean
something else in every embedding model, so the sum is calibrated per model; a model that is not listed
borrows the calibration of the local one, and `refuse_below` can be set.

Calibrated on LoCoMo, BEAM and LongMemEval, whole and cut down to 100, 20 and 6 memories: each owner asked its
own questions, and those of others, which it knows nothing about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mnemic.recall.pool import Pool
from mnemic.recall.score import in_windows
from mnemic.recall.understand import Question

REFUSE_BELOW = 0.5
MEMORIES_MAX = 2_000
"""Beyond this the number of memories makes no difference: larger owners were not measured."""


@dataclass(frozen=True)
class Calibration:
    """How much each part says, for one embedding model."""

    cosine: float
    spread: float
    best_words: float
    known_words: float
    log_memories: float
    offset: float


LOCAL = Calibration(
    cosine=12.5, spread=35.0, best_words=3.9, known_words=2.0, log_memories=-0.75, offset=-7.7
)
BY_MODEL: Mapping[str, Calibration] = {
    "local:all-MiniLM-L6-v2": LOCAL,
}
# The models for tests hash words: nothing in common is a cosine near 0, any word in common is knowledge.
TESTING_PREFIX = "test:"
TESTING = Calibration(cosine=8.0, spread=0.0, best_words=3.0, known_words=1.0, log_memories=0.0, offset=-2.0)
WORDS_ONLY = Calibration(
    cosine=0.0, spread=0.0, best_words=7.0, known_words=1.6, log_memories=-0.62, offset=0.0
)


def confidence(pools: Sequence[Pool], question: Question, model: str | None) -> float:
    """From 0 (nothing known about this) to 1, the best of all sources; without a model, by words alone.

    A question that names a time and nothing else is one that any memory of that time answers.
    """
    if question.asks_only_when and any(in_windows(pool.happened_at_s, question).any() for pool in pools):
        return 1.0
    return max((_confidence(pool, model) for pool in pools), default=0.0)


def _confidence(pool: Pool, model: str | None) -> float:
    if not len(pool):
        return 0.0
    cosines = pool.cosines[~np.isnan(pool.cosines)]
    by_meaning = model is not None and len(cosines) > 0
    calibration = calibration_of(model) if model is not None and by_meaning else WORDS_ONLY
    best = cosines.max() if by_meaning else 0.0
    total = float(pool.words.weights.sum())
    best_words = float(pool.words.weights_of(pool.terms).max()) / total if total else 0.0
    known_words = float(pool.words.weights[pool.words.shares > 0].sum()) / total if total else 0.0
    parts = (
        calibration.cosine * best
        + calibration.spread * pool.cosine_deviation
        + calibration.best_words * best_words
        + calibration.known_words * known_words
        + calibration.log_memories * np.log(np.clip(pool.words.known.memory_count, 1, MEMORIES_MAX))
        + calibration.offset
    )
    return float(1 / (1 + np.exp(-parts)))


def calibration_of(model: str) -> Calibration:
    """The calibration of a model, or the local one's for a model that has none."""
    return TESTING if model.startswith(TESTING_PREFIX) else BY_MODEL.get(model, LOCAL)


def reason(confidence: float, threshold: float, *, is_empty: bool) -> str:
    """Why nothing is given back."""
    if is_empty:
        return "Nothing that this owner may read passes the filters."
    return (
        f"Nothing stored is close enough to the query: confidence {confidence:.2f}, below the threshold "
        f"{threshold:.2f}."
    )
