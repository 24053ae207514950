"""Ranking: the fused score of a candidate is a weighted sum of named parts, which `explain` shows.

There are three kinds of parts. **The candidate's own evidence**: its cosine and its lexical score, both as
standard scores among the owner's memories (z-scores), so that they can be added. **Evidence of its
context**: the same for the turns before and after it, less for long ones, and how well its whole
conversation matches. **Metadata**: who said it, whether it has more than a few words, when it happened,
which entities it mentions, how salient, useful, certain and recent it is. The last ones are small, and zero
for a memory without any feedback.

Two kinds of memories compete. A turn of a conversation has a context that speaks for it. A fact, a note or a
chunk of a document has none, so its own evidence weighs more, with the bare cosine and the share of the
query's words beside the standard scores (`OUTSIDE_CONVERSATIONS`). A turn counts as such a memory where that
gives more (part `on its own`).

The weights of turns were fitted on LoCoMo and BEAM (listwise, some twenty numbers for 1,100 questions), those
of other memories on small stores, facts, documents and all of these beside conversations (2,500 questions),
cross-validated by store, then rounded. docs/concepts/recall.md says what each part earns.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

import numpy as np

from mnemic.recall.candidates.lexical import LexicalMatches
from mnemic.recall.candidates.neighbours import ConversationTurns
from mnemic.recall.candidates.pool import CandidatePool
from mnemic.recall.derived_memories import derived_part
from mnemic.recall.exact_tokens import exact_tokens
from mnemic.recall.lexical_score import Floats, lexical_scores
from mnemic.recall.outdating import outdated_part
from mnemic.recall.query_analysis import QueryAnalysis
from mnemic.recall.time_evidence import listed_by_time, time_evidence

WEIGHTS: dict[str, float] = {
    "meaning": 1.3,
    "words": 1.0,
    "cosine": 0.0,
    "coverage": 0.0,
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
    "newest first": 2.0,
    "graph": 1.0,
    "salience": 0.1,
    "usefulness": 1.0,
    "confidence": 2.0,
    "recency": 0.3,
    "tense": 1.0,
    "anchored": 0.5,
    "exact token": 6.0,
    "bridge": 1.5,
}

OUTSIDE_CONVERSATIONS: dict[str, float] = {
    "meaning": 2.2,
    "words": 0.5,
    "cosine": 14.0,
    "coverage": 8.0,
    "time": 14.0,
    "exact token": 20.0,
    "bridge": 2.0,
}
"""Other weights of a memory outside of conversations: it has no context that could speak for it."""

UNRELATED_COSINE = 0.1
"""The part `cosine` is 0 here: below, texts are mostly unrelated."""

EVIDENCE_MAX = 8.0
"""Bound of standard scores: where all memories are nearly alike, small differences say little."""

NEIGHBOUR_PARTS = (
    "words before",
    "words after",
    "words around",
    "meaning before",
    "meaning after",
    "meaning around",
)
"""The parts that come from neighbouring turns."""

CONTEXT_PARTS = (*NEIGHBOUR_PARTS, "conversation words", "conversation meaning")

BRIDGED_BELOW = 0.01
"""How far the best candidate stays above one that a bridge would lift above it."""

TURN_HANDICAP = 6.0
"""R@10 of BEAM and LoCoMo at 0 was .656 and .799, at 4 .651 and .824, at 8 .637 and .828."""

# A turn longer than this contributes less to its neighbours: it covers more topics.
NEIGHBOUR_FULL_BYTES = 300.0
# The shorter a turn below this, the less it answers: "Wow, great!" A fact outside of a conversation may be
# short.
BRIEF_BYTES = 150.0
# The prior of the lexical scores' deviation: as a divisor of the squared weights, and the number of memories
# that it counts as.
PRIOR_VARIANCE_DIVISOR = 20
PRIOR_MEMORIES = 20.0
# A conversation is scored by this many of its turns, the nearest ones.
BEST_TURNS = 3
RECENCY_HALF_LIFE_S = 30 * 86_400.0
# The logistic function from the fused score to a score from 0 to 1.
SCORE_MIDDLE = 8.0
SCORE_SPREAD = 4.0


@dataclass(frozen=True)
class Ranking:
    """The fused score of each candidate of a pool, and the weighted parts that it is the sum of."""

    fused: Floats
    parts: Mapping[str, Floats]

    def parts_of(self, index: int) -> dict[str, float]:
        """The parts of one candidate that are not zero."""
        return {name: round(float(part[index]), 3) for name, part in self.parts.items() if part[index]}


def rank(pool: CandidatePool, analysis: QueryAnalysis, now_s: float) -> Ranking:
    """Score every candidate of the pool."""
    features = {**own_evidence(pool), **_metadata(pool, analysis, now_s)}
    features["exact token"] = exact_tokens(pool)
    features |= _context_evidence(pool, features["words"], features["meaning"])
    features = listed_by_time(features, pool, analysis)
    weighted = np.array(list(features.values())) * _weights(pool, features)
    parts = dict(zip(features, weighted, strict=True))
    on_its_own = parts["on its own"] = _on_its_own(parts, features)
    without_bridge = weighted.sum(axis=0) + on_its_own - parts["bridge"]
    bridge = parts["bridge"] = _bridge_part(parts["bridge"], without_bridge)
    fused = without_bridge + bridge
    derived = parts["derived"] = derived_part(pool)
    outdated = outdated_part(pool, fused + derived, asks_for_past=analysis.asks_for_past)
    return Ranking(fused + derived + outdated, parts | {"outdated": outdated})


def _bridge_part(bridge: Floats, others: Floats) -> Floats:
    """What a bridge adds. It starts from a better candidate, so the best one stays first."""
    if not bridge.any():
        return bridge
    best, bridged = int(others.argmax()), others + bridge
    kept = bridge.copy()
    if bridged.argmax() != best:
        kept[best] = float(bridged.max() - others[best]) + BRIDGED_BELOW
    return kept


def _on_its_own(parts: Mapping[str, Floats], features: Mapping[str, Floats]) -> Floats:
    """What a turn gains if it scores more as a memory outside of conversations, less `TURN_HANDICAP`.

    So a turn without a context, or in a context about something else, competes with facts and documents.
    """
    own = ("meaning", "words", "cosine", "coverage")
    as_turn = np.sum([parts[name] for name in (*own, *CONTEXT_PARTS)], axis=0)
    as_memory = np.sum([OUTSIDE_CONVERSATIONS[name] * features[name] for name in own], axis=0)
    gained: Floats = np.maximum(as_memory - TURN_HANDICAP - as_turn, 0.0)
    return gained


def _weights(pool: CandidatePool, features: Iterable[str]) -> Floats:
    """The weight of each part, a row, for each candidate, a column."""
    of_turns, of_others = _weight_columns(tuple(features))
    return np.where(pool.in_conversation, of_turns, of_others)


@lru_cache
def _weight_columns(features: tuple[str, ...]) -> tuple[Floats, Floats]:
    """The weights of turns and those of other memories, each as a column."""
    of_others = WEIGHTS | OUTSIDE_CONVERSATIONS
    return (
        np.array([[WEIGHTS[name]] for name in features]),
        np.array([[of_others[name]] for name in features]),
    )


def score(fused: float) -> float:
    """Map a fused score to a number from 0 to 1; higher stays higher."""
    return float(1 / (1 + np.exp(-(fused - SCORE_MIDDLE) / SCORE_SPREAD)))


def own_evidence(pool: CandidatePool) -> dict[str, Floats]:
    """The cosine and the lexical score, in standard deviations above the mean of the owner's memories."""
    lexical = pool.lexical
    mean_bytes = lexical.terms.mean_bytes or (float(pool.bytes.mean()) if len(pool) else 1.0)
    scores = lexical_scores(pool.term_weights, pool.bytes, mean_bytes)
    mean, deviation = _lexical_statistics(lexical)
    meaning = (pool.cosines - pool.cosine_mean) / pool.cosine_deviation
    return {
        "meaning": _bounded(np.where(pool.lacks_cosine, 0.0, meaning)),
        "words": _bounded((scores - mean) / deviation),
        "cosine": np.where(pool.lacks_cosine, 0.0, pool.cosines - UNRELATED_COSINE),
        "coverage": pool.term_weights / (float(lexical.weights.sum()) or 1.0),
    }


def _bounded(scores: Floats) -> Floats:
    """Standard scores within `EVIDENCE_MAX`."""
    return np.minimum(np.maximum(scores, -EVIDENCE_MAX), EVIDENCE_MAX)


def _lexical_statistics(lexical: LexicalMatches) -> tuple[float, float]:
    """Mean and standard deviation of the summed weights, as if terms were independent; with a prior."""
    mean = float((lexical.weights * lexical.shares).sum())
    squares = lexical.weights**2
    variance = float((squares * lexical.shares * (1 - np.minimum(lexical.shares, 1))).sum())
    prior = float(squares.sum()) / PRIOR_VARIANCE_DIVISOR
    share = PRIOR_MEMORIES / (PRIOR_MEMORIES + lexical.terms.memory_count)
    return mean, math.sqrt((1 - share) * variance + share * prior) or 1.0


def _context_evidence(pool: CandidatePool, words: Floats, meaning: Floats) -> dict[str, Floats]:
    return {
        **_neighbour_evidence(pool, words, meaning),
        "conversation words": _conversation_words(pool),
        "conversation meaning": _conversation_meaning(pool, meaning),
    }


def _neighbour_evidence(pool: CandidatePool, words: Floats, meaning: Floats) -> dict[str, Floats]:
    """The evidence of the turns before and after; zero for memories outside of conversations."""
    if all(position is None for position in pool.positions):
        return dict.fromkeys(NEIGHBOUR_PARTS, np.zeros(len(pool)))
    turns = ConversationTurns(pool.conversations, pool.positions)
    factor = np.minimum(1, NEIGHBOUR_FULL_BYTES / np.maximum(pool.bytes, 1))
    near_words, near_meaning = words * factor, meaning * factor
    return {
        "words before": turns.shifted(near_words, -1),
        "words after": turns.shifted(near_words, 1),
        "words around": turns.shifted(near_words, -2) + turns.shifted(near_words, 2),
        "meaning before": turns.shifted(near_meaning, -1),
        "meaning after": turns.shifted(near_meaning, 1),
        "meaning around": turns.shifted(near_meaning, -2) + turns.shifted(near_meaning, 2),
    }


def conversation_terms(pool: CandidatePool) -> dict[str, int]:
    """The query's terms that each conversation has, as a bit field, as far as the searches show."""
    covered = dict(pool.lexical.conversation_terms)
    for conversation, bits in zip(pool.conversations, pool.terms, strict=True):
        if conversation is not None:
            covered[conversation] = covered.get(conversation, 0) | bits
    return covered


def _conversation_words(pool: CandidatePool) -> Floats:
    """The conversation's share of the weight of all terms, minus the mean of all conversations."""
    covered = conversation_terms(pool)
    total = float(pool.lexical.weights.sum())
    if len(covered) < 2 or not total:
        return np.zeros(len(pool))
    shares = pool.lexical.weights_of(list(covered.values())) / total
    above = dict(zip(covered, (shares - shares.mean()).tolist(), strict=True))
    return np.array([above[name] if name is not None else 0.0 for name in pool.conversations])


def _conversation_meaning(pool: CandidatePool, meaning: Floats) -> Floats:
    """The mean of the conversation's nearest turns, minus the mean of all conversations."""
    turns: dict[str, list[float]] = {}
    for conversation, value in zip(pool.conversations, meaning.tolist(), strict=True):
        if conversation is not None:
            turns.setdefault(conversation, []).append(value)
    if len(turns) < 2:
        return np.zeros(len(pool))
    best = {name: _mean_of_best(values) for name, values in turns.items()}
    mean = fmean(best.values())
    return np.array([best[name] - mean if name is not None else 0.0 for name in pool.conversations])


def _mean_of_best(values: list[float]) -> float:
    """Of the `BEST_TURNS` highest values."""
    if len(values) == 1:
        return values[0]
    best = sorted(values)[-BEST_TURNS:]
    return math.fsum(best) / len(best)


def _metadata(pool: CandidatePool, analysis: QueryAnalysis, now_s: float) -> dict[str, Floats]:
    age = np.maximum(now_s - pool.happened_at_s, 0) / RECENCY_HALF_LIFE_S
    return {
        "speaker": _speakers(pool, analysis),
        "role": np.array([float(role in analysis.speaker_roles) for role in pool.roles]),
        "length": _turn_lengths(pool),
        "time": time_evidence(pool, analysis),
        "graph": np.where(np.isfinite(pool.hops), 1.0 / (1.0 + pool.hops), 0.0),
        "salience": pool.saliences - 0.5,
        "usefulness": pool.usefulnesses - 0.5,
        "confidence": pool.confidences - 1.0,
        "recency": np.exp2(-age),
        "tense": -np.abs(pool.tenses),
        "anchored": pool.anchored,
        "bridge": pool.bridges if pool.bridges is not None else np.zeros(len(pool)),
    }


def _turn_lengths(pool: CandidatePool) -> Floats:
    """The logarithm of a turn's length up to `BRIEF_BYTES`, minus the mean; 0 outside of conversations."""
    is_turn = pool.in_conversation
    lengths = np.zeros(len(pool))
    if is_turn.any():
        logarithms = np.log(np.clip(pool.bytes[is_turn], 1, BRIEF_BYTES))
        lengths[is_turn] = logarithms - logarithms.mean()
    return lengths


def _speakers(pool: CandidatePool, analysis: QueryAnalysis) -> Floats:
    named = {name: float(analysis.mentions(name)) for name in set(pool.names) if name}
    return np.array([named.get(name or "", 0.0) for name in pool.names])
