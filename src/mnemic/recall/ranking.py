"""Ranking: every memory of a pool gets a sum of weighted parts, each with a name, so that it can be told.

The parts are of three kinds. **Evidence of its own**: how near it is in meaning and how many rare words of
the query it has, both as standard scores (how far above what is usual among the owner's memories), so that
they can be added up. **Evidence from around it**: the same for the turns before and after it, less for long
ones, and how many of the query's words its whole conversation has and how near that is. **What is known about
it**: who said it, whether it says more than a few words, when it happened, whom it mentions, how salient,
useful, certain and recent it is. The last ones are small and zero for a memory that nobody has judged yet.

The weights were fitted once (listwise, over the turns of LoCoMo and BEAM, some twenty numbers for 1,100
questions; what was fitted on two thirds of the conversations did as well on the last third), then rounded.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from mnemic.recall.candidates.pool import Floats, Pool, Turns
from mnemic.recall.query_analysis import Question

WEIGHTS: Mapping[str, float] = {
    "meaning": 1.3,
    "words": 1.0,
    "meaning before": 0.5,
    "meaning after": 0.6,
    "words before": 0.5,
    "words after": 0.1,
    "meaning around": 0.25,
    "words around": 0.3,
    "conversation words": 8.0,
    "conversation meaning": 0.5,
    "speaker": 2.0,
    "role": 4.0,
    "length": 1.0,
    "time": 7.0,
    "graph": 1.0,
    "salience": 1.0,
    "usefulness": 1.0,
    "confidence": 2.0,
    "recency": 0.3,
    "tense": 1.0,
    "anchored": 0.5,
}

LENT = ("words before", "words after", "words around", "meaning before", "meaning after", "meaning around")
"""The parts that turns lend to their neighbours."""

# BM25's constants: how soon a word more stops counting, and how much long texts are held back.
SATURATION = 2.0
LENGTH_SHARE = 0.5
# A turn longer than this lends less: it speaks of much that its neighbours have nothing to do with.
LENDING_BYTES = 300.0
# A turn shorter than this answers less the shorter it is: "Wow, great!" A fact stored by itself may be short.
BRIEF_BYTES = 150.0
# What is usual before anything is known about an owner, and how many memories that is worth.
PRIOR_MEMORIES = 20.0
# The turns by which a conversation is judged.
BEST_TURNS = 3
RECENCY_HALF_LIFE_S = 30 * 86_400.0
# Where the fused score becomes a score from 0 to 1.
SCORE_MIDDLE = 8.0
SCORE_SPREAD = 4.0


@dataclass(frozen=True)
class Ranking:
    """The fused score of each member of a pool, and the weighted parts that it is the sum of."""

    fused: Floats
    parts: Mapping[str, Floats]

    def parts_of(self, place: int) -> dict[str, float]:
        """The parts of one member that are not zero."""
        return {name: round(float(part[place]), 3) for name, part in self.parts.items() if part[place]}


def rank(pool: Pool, question: Question, now_s: float) -> Ranking:
    """Score every member of the pool."""
    features = {**_own(pool), **_known(pool, question, now_s)}
    features |= _around(pool, features["words"], features["meaning"])
    weights = np.array([WEIGHTS[name] for name in features])
    parts = np.array(list(features.values())) * weights[:, None]
    return Ranking(parts.sum(axis=0), dict(zip(features, parts, strict=True)))


def score(fused: float) -> float:
    """A fused score as a number from 0 to 1, in the same order."""
    return float(1 / (1 + np.exp(-(fused - SCORE_MIDDLE) / SCORE_SPREAD)))


def _own(pool: Pool) -> dict[str, Floats]:
    """How far words and meaning stand out among the owner's memories, in standard deviations."""
    words = pool.words
    mean_bytes = words.known.mean_bytes or (float(pool.bytes.mean()) if len(pool) else 1.0)
    length = 1 + SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * pool.bytes / max(mean_bytes, 1.0))
    raw = words.weights_of(pool.terms) * (1 + SATURATION) / length
    usual = float((words.weights * words.shares).sum())
    squares = words.weights**2
    variance = float((squares * words.shares * (1 - np.minimum(words.shares, 1))).sum())
    prior = float(squares.sum()) / 20
    share = PRIOR_MEMORIES / (PRIOR_MEMORIES + words.known.memory_count)
    deviation = math.sqrt((1 - share) * variance + share * prior) or 1.0
    meaning = (pool.cosines - pool.cosine_mean) / pool.cosine_deviation
    return {"meaning": np.nan_to_num(meaning), "words": (raw - usual) / deviation}


def _around(pool: Pool, words: Floats, meaning: Floats) -> dict[str, Floats]:
    return {
        **_lent(pool, words, meaning),
        "conversation words": _conversation_words(pool),
        "conversation meaning": _conversation_meaning(pool, meaning),
    }


def _lent(pool: Pool, words: Floats, meaning: Floats) -> dict[str, Floats]:
    """The evidence of the turns before and after; what was not said in a conversation has none."""
    if all(position is None for position in pool.positions):
        return dict.fromkeys(LENT, np.zeros(len(pool)))
    turns = Turns(pool.conversations, pool.positions)
    lending = np.minimum(1, LENDING_BYTES / np.maximum(pool.bytes, 1))
    lent_words, lent_meaning = words * lending, meaning * lending
    return {
        "words before": turns.shifted(lent_words, -1),
        "words after": turns.shifted(lent_words, 1),
        "words around": turns.shifted(lent_words, -2) + turns.shifted(lent_words, 2),
        "meaning before": turns.shifted(lent_meaning, -1),
        "meaning after": turns.shifted(lent_meaning, 1),
        "meaning around": turns.shifted(lent_meaning, -2) + turns.shifted(lent_meaning, 2),
    }


def conversation_terms(pool: Pool) -> dict[str, int]:
    """Which of the query's terms each conversation has, bit by bit, as far as its turns were seen."""
    covered = dict(pool.words.conversation_terms)
    for conversation, bits in zip(pool.conversations, pool.terms, strict=True):
        if conversation is not None:
            covered[conversation] = covered.get(conversation, 0) | bits
    return covered


def _conversation_words(pool: Pool) -> Floats:
    """The share of the query's weight that the conversation has, above the mean of all conversations."""
    covered = conversation_terms(pool)
    total = float(pool.words.weights.sum())
    if len(covered) < 2 or not total:
        return np.zeros(len(pool))
    shares = pool.words.weights_of(list(covered.values())) / total
    above = dict(zip(covered, (shares - shares.mean()).tolist(), strict=True))
    return np.array([above[name] if name is not None else 0.0 for name in pool.conversations])


def _conversation_meaning(pool: Pool, meaning: Floats) -> Floats:
    """How near the conversation's nearest turns are, above the mean of all conversations."""
    turns: dict[str, list[float]] = {}
    for conversation, value in zip(pool.conversations, meaning.tolist(), strict=True):
        if conversation is not None:
            turns.setdefault(conversation, []).append(value)
    if len(turns) < 2:
        return np.zeros(len(pool))
    best = {name: fmean(sorted(values)[-BEST_TURNS:]) for name, values in turns.items()}
    mean = fmean(best.values())
    return np.array([best[name] - mean if name is not None else 0.0 for name in pool.conversations])


def _known(pool: Pool, question: Question, now_s: float) -> dict[str, Floats]:
    age = np.maximum(now_s - pool.happened_at_s, 0) / RECENCY_HALF_LIFE_S
    return {
        "speaker": _speakers(pool, question),
        "role": np.array([float(role in question.speaker_roles) for role in pool.roles]),
        "length": _turn_lengths(pool),
        "time": in_windows(pool.happened_at_s, question),
        "graph": np.where(np.isfinite(pool.hops), 1.0 / (1.0 + pool.hops), 0.0),
        "salience": pool.saliences - 0.5,
        "usefulness": pool.usefulnesses - 0.5,
        "confidence": pool.confidences - 1.0,
        "recency": np.exp2(-age),
        "tense": -np.abs(pool.tenses),
        "anchored": pool.anchored,
    }


def _turn_lengths(pool: Pool) -> Floats:
    """How much longer than the mean a turn is, as far as length says anything; 0 for what is no turn."""
    is_turn = np.array([conversation is not None for conversation in pool.conversations], bool)
    lengths = np.zeros(len(pool))
    if is_turn.any():
        logarithms = np.log(np.clip(pool.bytes[is_turn], 1, BRIEF_BYTES))
        lengths[is_turn] = logarithms - logarithms.mean()
    return lengths


def _speakers(pool: Pool, question: Question) -> Floats:
    named = {name: float(question.names(name)) for name in set(pool.names) if name}
    return np.array([named.get(name or "", 0.0) for name in pool.names])


def in_windows(happened_at_s: Floats, question: Question) -> Floats:
    """1 for each moment that lies in a window of the question, else 0."""
    inside = np.zeros(len(happened_at_s))
    for start, end in question.windows:
        inside = np.maximum(inside, (happened_at_s >= start) & (happened_at_s < end))
    return inside
