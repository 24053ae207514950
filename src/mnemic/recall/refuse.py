"""Whether Mnemic knows anything about a query at all.

Confidence is a logistic sum of what the owner's memories say about the query together and what the best of
them says: how near they are on average and how much their cosines differ, since what they are about is near
to some of them and far from others, and everything else is about as far from all; the best cosine, and the
most evidence of its own that a memory has, by meaning and words as in ranking (`score`); less for words of
the query that no memory has, the first of them most, and for an owner with many memories, among which
something similar is always found. Cosines mean something else in every embedding model, so the sum is
calibrated per model; one that is not listed goes by numbers that depend less on it, and `refuse_below` can
be set.

Calibrated on LoCoMo, BEAM and LongMemEval, whole and cut down to 100, 20 and 6 memories, the first two also
as plain texts without speakers and conversations: each owner asked its own questions, and those of others,
which it knows nothing about. Seven numbers for 18,600 answers, rounded; fitted with each owner left out in
turn, the areas under the ROC curve were .985 on BEAM, .993 on LoCoMo and .918 on LongMemEval. The evidence
from around a memory, who said it and when are left out on purpose: with them, memories without
conversations were refused twice as often.
"""

import functools
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mnemic.recall.pool import Pool
from mnemic.recall.score import Ranking, in_windows
from mnemic.recall.understand import Question

REFUSE_BELOW = 0.5
MEMORIES_MIN, MEMORIES_MAX = 6, 2_000
"""Beyond these the number of memories makes no difference: smaller and larger owners were not measured."""


@dataclass(frozen=True)
class Calibration:
    """How much each part says, for one embedding model; a part that is not named says nothing.

    `mean` and `spread` are of the cosines of all the owner's memories, `evidence` is the best memory's own.
    `best_words` is the share of the query's weight that one memory has, `known_words` the one that all have
    together, `unknown_words` goes by the logarithm of the weight that none has.
    """

    cosine: float = 0.0
    mean: float = 0.0
    spread: float = 0.0
    evidence: float = 0.0
    best_words: float = 0.0
    known_words: float = 0.0
    unknown_words: float = 0.0
    log_memories: float = 0.0
    offset: float = 0.0


BY_MODEL: Mapping[str, Calibration] = {
    "local:all-MiniLM-L6-v2": Calibration(
        cosine=6.0,
        mean=16.0,
        spread=55.0,
        evidence=0.3,
        unknown_words=-1.1,
        log_memories=-0.75,
        offset=-6.8,
    ),
}
# Fitted with the local model, too, without the mean: that differs most between models.
UNLISTED = Calibration(
    cosine=12.5, spread=35.0, best_words=3.9, known_words=2.0, log_memories=-0.75, offset=-7.7
)
# The models for tests hash words: nothing in common is a cosine near 0, any word in common is knowledge.
TESTING_PREFIX = "test:"
TESTING = Calibration(cosine=8.0, best_words=3.0, known_words=1.0, offset=-2.0)
WORDS_ONLY = Calibration(best_words=7.0, known_words=1.6, log_memories=-0.62)


def confidence(
    pools: Sequence[Pool], rankings: Sequence[Ranking], question: Question, model: str | None
) -> float:
    """From 0 (nothing known about this) to 1, the best of all sources; without a model, by words alone.

    A question that names a time and nothing else is one that any memory of that time answers.
    """
    if question.asks_only_when and any(in_windows(pool.happened_at_s, question).any() for pool in pools):
        return 1.0
    known = (
        _confidence(pool, ranking, model) for pool, ranking in zip(pools, rankings, strict=True) if len(pool)
    )
    return max(known, default=0.0)


def _confidence(pool: Pool, ranking: Ranking, model: str | None) -> float:
    cosines = pool.cosines[~np.isnan(pool.cosines)]
    by_meaning = model is not None and len(cosines) > 0
    calibration = calibration_of(model) if model is not None and by_meaning else WORDS_ONLY
    weights = pool.words.weights
    total = float(weights.sum()) or 1.0
    is_unknown = _is_unknown(pool)
    parts = (
        calibration.cosine * (cosines.max() if by_meaning else 0.0)
        + calibration.mean * pool.cosine_mean
        + calibration.spread * pool.cosine_deviation
        + calibration.evidence * (ranking.parts["meaning"] + ranking.parts["words"]).max()
        + calibration.best_words * pool.words.weights_of(pool.terms).max() / total
        + calibration.known_words * weights[pool.words.shares > 0].sum() / total
        + calibration.unknown_words * np.log1p(weights[is_unknown].sum())
        + calibration.log_memories * _log_memories(pool)
        + calibration.offset
    )
    return float(1 / (1 + np.exp(-parts)))


def _log_memories(pool: Pool) -> float:
    return math.log(min(max(pool.words.known.memory_count, MEMORIES_MIN), MEMORIES_MAX))


def _is_unknown(pool: Pool) -> npt.NDArray[np.bool_]:
    """Which terms no memory has; where rare words are not counted, those that no member of the pool has."""
    present = functools.reduce(operator.or_, pool.terms)
    return np.array(
        [
            share == 0 or (pool.words.known.is_kept and count is None and not present >> place & 1)
            for place, (share, count) in enumerate(
                zip(pool.words.shares, pool.words.known.counts, strict=True)
            )
        ],
        bool,
    )


def calibration_of(model: str) -> Calibration:
    """The calibration of a model, or the common one for a model that has none."""
    return TESTING if model.startswith(TESTING_PREFIX) else BY_MODEL.get(model, UNLISTED)


def reason(confidence: float, threshold: float, *, is_empty: bool, unknown_owner: str | None = None) -> str:
    """Why nothing is given back; `unknown_owner` is the owner if it has no memories at all."""
    if unknown_owner is not None:
        return f"The owner {unknown_owner!r} has no memories."
    if is_empty:
        return "Nothing that this owner may read passes the filters."
    return (
        f"Nothing stored is close enough to the query: confidence {confidence:.2f}, below the threshold "
        f"{threshold:.2f}."
    )
