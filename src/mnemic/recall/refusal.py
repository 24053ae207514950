"""The outcome of a recall: found, weak or refused.

Below `REFUSE_BELOW` recall refuses: the owner's memories know nothing about the query. Below `WEAK_BELOW` it
returns hits and says that they may not answer the query. A false refusal is worse than a weak answer, so the
default refuses only what is foreign; `strict` refuses everything below `STRICT_BELOW`, and `refuse_below`
sets the threshold itself.

Confidence is the logistic function of a weighted sum:

- the best cosine, and how much the cosines of this owner's memories differ: a query about a known topic is
  near to some memories and far from others, any other query is about as far from all;
- how far the best candidate is ahead of the tenth by the fused score (`ranking`), for the same reason; of
  each conversation only the best turn counts;
- the largest share of the query's words that one candidate has, less for a long candidate, which has many
  words by chance, and more for a query of many words, of which a memory has fewer by chance; and less for
  words that no memory has;
- whether the best candidate happened in a time that the query names;
- less for an owner with more memories, up to 300, among which something similar is more often found, and less
  for one with fewer than 20, where the best of a dozen says little.

A query in another language than the memories (`query_language`) has weights of its own, and is never refused
by default.

Cosines have another scale in every embedding model, so the weights are calibrated per model. A model without
a calibration uses weights that depend less on the model, and callers can set `refuse_below`.

The calibration of the local model was made from some 10,000 own and foreign questions of small stores, parts
of them, facts, documents, all of these beside conversations, LoCoMo, BEAM and half of LongMemEval, each set
with the same weight. A question counts as answered if a right memory is among ten hits. A logistic regression
chose the parts; the nine weights were then searched, rounded, so that few own questions are refused and the
calibration error is small on every set. docs/concepts/recall.md has the figures.
"""

import functools
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from mnemic.recall.candidates.pool import CandidatePool
from mnemic.recall.lexical_score import Floats
from mnemic.recall.query_analysis import QueryAnalysis
from mnemic.recall.query_language import is_in_another_language
from mnemic.recall.ranking import Ranking
from mnemic.recall.time_evidence import in_windows
from mnemic.types.recalled import Outcome

REFUSE_BELOW = 0.25
"""The default threshold of refusal."""
WEAK_BELOW = 0.5
"""Hits with a lower confidence are marked as weak."""
STRICT_BELOW = 0.5
"""The threshold of refusal with `strict`."""
LEAD_AT = 10
"""The best candidate is compared with the tenth, and each conversation counts as one: turns near to an answer
are no rivals of it."""
LEAD_PRIOR = 3.0
"""With fewer candidates than that, it is compared with a score from 0 to this: not measured."""
TERMS_MAX = 10
"""The share of a query's words that a memory has by chance falls with the root of their number, up to this
number."""
MEMORIES_MIN, MEMORIES_MAX = 6, 2_000
"""The number of memories is clipped to this range: smaller and larger owners were not measured."""
FEW_MIN = 10
"""Fewer memories count as this many: not measured."""
LONG_BYTES = 600.0
"""Of a candidate with three times this length, words count half. Between 300 and 1,200 little changes."""


@dataclass(frozen=True)
class Calibration:
    """The weight of each part of the sum, for one embedding model.

    `mean` and `spread` weigh the mean and the standard deviation of the owner's cosines. `best_words` weighs
    the largest share of the terms' weight that one candidate has, `dense_words` the same, less for a long
    candidate and more for many terms, `known_words` the share of the terms that any memory has,
    `unknown_words` the logarithm of the weight of the terms that no memory has. `lead` weighs how far the
    best candidate is ahead of the tenth, `in_window` that it happened in a time that the query names.
    `log_memories` weighs the logarithm of the number of memories from `memories_min` to `memories_max`,
    `few_memories` below `memories_min`.
    """

    cosine: float = 0.0
    mean: float = 0.0
    spread: float = 0.0
    best_words: float = 0.0
    dense_words: float = 0.0
    known_words: float = 0.0
    unknown_words: float = 0.0
    log_memories: float = 0.0
    few_memories: float = 0.0
    lead: float = 0.0
    in_window: float = 0.0
    offset: float = 0.0
    memories_min: int = MEMORIES_MIN
    memories_max: int = MEMORIES_MAX
    other_language: "Calibration | None" = None
    """For a query in another language than the memories, if the model knows only one."""


OTHER_LANGUAGE_LEAST = REFUSE_BELOW
"""The least confidence for a query in another language: too little is known to refuse it."""
OTHER_LANGUAGE_TEXTS = 5
"""The best candidates whose language is looked at."""

BY_MODEL: Mapping[str, Calibration] = {
    "local:all-MiniLM-L6-v2": Calibration(
        cosine=6.1,
        spread=15.0,
        dense_words=1.7,
        unknown_words=-0.4,
        log_memories=-1.35,
        few_memories=1.7,
        lead=0.075,
        in_window=1.2,
        offset=1.5,
        memories_min=20,
        memories_max=300,
        # Questions in five languages about English documents: the cosine says nothing about them.
        other_language=Calibration(best_words=7.8, lead=0.32, offset=-2.9),
    ),
    # Fitted on cosines of small stores, documents and facts; questions in German and Spanish among them.
    "local:universal-sentence-encoder-multilingual": Calibration(
        cosine=20.0, mean=4.0, spread=7.0, log_memories=-1.2, offset=1.0
    ),
}
# Fitted with the local model as well, without the mean, which differs most between models.
UNCALIBRATED = Calibration(
    cosine=12.5, spread=35.0, best_words=3.9, known_words=2.0, log_memories=-0.75, offset=-7.7
)
# The test models hash words: without a common word the cosine is near 0, any common word means a match.
TESTING_PREFIX = "test:"
TESTING = Calibration(cosine=8.0, best_words=3.0, known_words=1.0, offset=-3.0)
WORDS_ONLY = Calibration(best_words=7.0, known_words=1.6, log_memories=-0.62)


@dataclass(frozen=True)
class Decision:
    """The outcome, and what decided it: the confidence, its parts and the threshold of refusal.

    `reason` is set if recall refuses.
    """

    outcome: Outcome
    confidence: float
    reason: str | None = None
    threshold: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        """Whether there are no hits."""
        return self.outcome == "refused"

    def without_hits(self, reason: str) -> "Decision":
        """A refusal with the same confidence."""
        return replace(self, outcome="refused", reason=reason)


def decide_outcome(
    pools: Sequence[CandidatePool],
    rankings: Sequence[Ranking],
    analysis: QueryAnalysis,
    model: str | None,
    owner: str | None,
    threshold: float,
) -> Decision:
    """Refuse if the owner has no memories, or none is a candidate, or the confidence is too low."""
    judged = judge_confidence(pools, rankings, analysis, model)
    sure = judged.confidence
    decided = Decision(
        "found" if sure >= WEAK_BELOW else "weak", sure, threshold=threshold, parts=judged.parts
    )
    if not any(pool.lexical.terms.memory_count for pool in pools):
        return decided.without_hits(f"The owner {owner!r} has no memories.")
    if not any(len(pool) for pool in pools):
        return decided.without_hits("Nothing that this owner may read passes the filters.")
    if sure < threshold:
        return decided.without_hits(
            f"Nothing stored is close enough to the query: confidence {sure:.2f}, below the threshold "
            f"{threshold:.2f}."
        )
    return decided


def refusal_threshold(given: float | None, setting: float | None, *, strict: bool) -> float:
    """The confidence below which recall refuses: `refuse_below` of the call, else of the settings.

    `strict` only ever raises the threshold of the settings; `refuse_below` of the call wins over it.
    """
    if given is not None:
        return given
    usual = REFUSE_BELOW if setting is None else setting
    return max(usual, STRICT_BELOW) if strict else usual


@dataclass(frozen=True)
class Judgement:
    """A confidence, and the parts of the sum that it is the logistic function of; none if a rule decided."""

    confidence: float
    parts: Mapping[str, float] = field(default_factory=dict)


def confidence(
    pools: Sequence[CandidatePool],
    rankings: Sequence[Ranking],
    analysis: QueryAnalysis,
    model: str | None,
) -> float:
    """From 0 (nothing is known) to 1, the best of all pools; without a model, by words alone."""
    return judge_confidence(pools, rankings, analysis, model).confidence


def judge_confidence(
    pools: Sequence[CandidatePool],
    rankings: Sequence[Ranking],
    analysis: QueryAnalysis,
    model: str | None,
) -> Judgement:
    """The confidence with its parts, those of the best pool.

    A query that names only a time is answered by any memory of that time, an overview by any memory that it
    is about.
    """
    if analysis.overview is not None and any(map(len, pools)):
        return Judgement(1.0)
    if analysis.is_time_only and any(in_windows(pool.happened_at_s, analysis).any() for pool in pools):
        return Judgement(1.0)
    judged = (
        _judge(pool, ranking, analysis, model)
        for pool, ranking in zip(pools, rankings, strict=True)
        if len(pool)
    )
    return max(judged, key=lambda each: each.confidence, default=Judgement(0.0))


def calibration_of(model: str) -> Calibration:
    """The calibration of a model; `UNCALIBRATED` for a model that has none."""
    return TESTING if model.startswith(TESTING_PREFIX) else BY_MODEL.get(model, UNCALIBRATED)


def _judge(pool: CandidatePool, ranking: Ranking, analysis: QueryAnalysis, model: str | None) -> Judgement:
    cosines = pool.cosines[~np.isnan(pool.cosines)]
    has_cosines = model is not None and len(cosines) > 0
    calibration = calibration_of(model) if model is not None and has_cosines else WORDS_ONLY
    least = 0.0
    if calibration.other_language is not None and _is_in_another_language(pool, ranking, analysis):
        calibration, least = calibration.other_language, OTHER_LANGUAGE_LEAST
    lexical = pool.lexical
    weights = lexical.weights
    total = float(weights.sum()) or 1.0
    parts = {
        "cosine": calibration.cosine * (cosines.max() if has_cosines else 0.0),
        "mean": calibration.mean * pool.cosine_mean,
        "spread": calibration.spread * pool.cosine_deviation,
        "best words": calibration.best_words * pool.term_weights.max() / total,
        "dense words": calibration.dense_words * _dense_words(pool).max() / total,
        "known words": calibration.known_words * weights[lexical.shares > 0].sum() / total,
        "unknown words": calibration.unknown_words * np.log1p(weights[_is_unknown(pool)].sum()),
        "memories": _memories_part(lexical.terms.memory_count, calibration),
        "lead": calibration.lead * _lead(pool, ranking.fused),
        "in window": calibration.in_window * in_windows(pool.happened_at_s, analysis)[ranking.fused.argmax()],
        "offset": calibration.offset,
    }
    kept = {name: float(value) for name, value in parts.items() if value}
    return Judgement(max(float(1 / (1 + np.exp(-sum(parts.values())))), least), kept)


def _is_in_another_language(pool: CandidatePool, ranking: Ranking, analysis: QueryAnalysis) -> bool:
    """Whether the query is in another language than the best candidates."""

    def best_texts() -> list[str]:
        texts = pool.texts
        best = np.argsort(-ranking.fused, kind="stable")[:OTHER_LANGUAGE_TEXTS].tolist()
        return [texts[index] for index in best if texts[index]]

    return is_in_another_language(analysis.topic, best_texts)


def _dense_words(pool: CandidatePool) -> Floats:
    """The summed weight of the terms that each candidate has, less for a long one, more for many terms."""
    term_count = min(len(pool.lexical.weights), TERMS_MAX)
    dense: Floats = pool.term_weights * math.sqrt(term_count) / np.sqrt(1 + pool.bytes / LONG_BYTES)
    return dense


def _lead(pool: CandidatePool, fused: Floats) -> float:
    """How far the best candidate is ahead of the tenth or last; only the best of each conversation counts."""
    best_first = np.argsort(-fused, kind="stable").tolist()
    if len(fused) < LEAD_AT:
        return float(fused[best_first[0]] - np.clip(fused[best_first[-1]], 0, LEAD_PRIOR))
    seen: set[str] = set()
    rivals: list[int] = []
    for index in best_first:
        conversation = pool.conversations[index]
        if conversation is None or conversation not in seen:
            rivals.append(index)
        if len(rivals) == LEAD_AT:
            break
        if conversation is not None:
            seen.add(conversation)
    return float(fused[rivals[0]] - fused[rivals[-1]])


def _memories_part(memory_count: int, calibration: Calibration) -> float:
    """What the number of memories adds, by its logarithm; of few memories, the fewer there are, the less."""
    least = calibration.memories_min
    counted = math.log(min(max(memory_count, least), calibration.memories_max))
    few = math.log(min(max(memory_count, FEW_MIN), least) / least)
    return calibration.log_memories * counted + calibration.few_memories * few


def _is_unknown(pool: CandidatePool) -> npt.NDArray[np.bool_]:
    """The terms that no memory has. For rare terms, which statistics leave out: that no candidate has."""
    present = functools.reduce(operator.or_, pool.terms)
    terms = pool.lexical.terms
    return np.array(
        [
            share == 0 or (terms.has_statistics and count is None and not present >> place & 1)
            for place, (share, count) in enumerate(zip(pool.lexical.shares, terms.counts, strict=True))
        ],
        bool,
    )
