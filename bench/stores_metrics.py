"""Metrics of a store: hits among the first k, refusals and calibration, by kind of question.

hit@k is the share of questions with a right memory among the first k, refusal off. A memory below one that is
outdated does not count. A `join` needs two right memories (all of them, if there is only one); an `overview`
counts the share of the right memories: found among the first k, of k or of all, whichever is less.

Refused is the share of questions that recall refuses by default. Versions of Mnemic with outcomes also report
the shares found and weak, and what strict mode refuses. Calibration is defined in `bench/calibration.py`: the
answer is among the hits if a right memory is, for a join two; near misses are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from bench.calibration import CalibrationErrors, Forecast
from bench.stores_data import FOREIGN, NEAR, UNANSWERABLE, StoreQuestion

RANKS = (1, 3, 5, 10)
EVERYTHING = "all"
JOIN, OVERVIEW = "join", "overview"
JOIN_PARTS = 2


@dataclass(frozen=True)
class Asked:
    """A question and what came of it.

    `ranked` are the contents that each ranking found, best first, refusal off; empty for a question without
    answer. `outcome` is None in a version that knows none, `strict_refused` in one without strict mode.
    """

    question: StoreQuestion
    confidence: float
    refused: bool
    outcome: str | None = None
    strict_refused: bool | None = None
    ranked: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class KindResult:
    """Results for one kind of question; `hits` are hit@k of each ranking, for each of `RANKS`."""

    kind: str
    question_count: int
    hits: dict[str, list[float]]
    refused: float
    outcomes: dict[str, float] | None
    strict_refused: float | None


@dataclass(frozen=True)
class StoreSetResult:
    """Results of one set, or of a part of it; `kinds` begins with all answerable questions."""

    name: str
    owner_count: int
    memory_count: int
    kinds: list[KindResult]
    calibration: CalibrationErrors
    recall_p50_ms: float
    recall_p95_ms: float

    def of(self, kind: str) -> KindResult | None:
        """The results for a kind, if it was asked."""
        return next((each for each in self.kinds if each.kind == kind), None)


def kind_results(asked: Sequence[Asked]) -> list[KindResult]:
    """All answerable questions together, then each kind."""
    answerable = [each for each in asked if each.question.kind not in UNANSWERABLE]
    kinds = dict.fromkeys(each.question.kind for each in asked)
    groups = {kind: [each for each in asked if each.question.kind == kind] for kind in kinds}
    return [_kind_result(kind, group) for kind, group in ({EVERYTHING: answerable} | groups).items() if group]


def _kind_result(kind: str, asked: Sequence[Asked]) -> KindResult:
    outcomes = [each.outcome for each in asked if each.outcome is not None]
    strict = [each.strict_refused for each in asked if each.strict_refused is not None]
    ranked = [each for each in asked if each.ranked]
    rankings = ranked[0].ranked if ranked else ()
    return KindResult(
        kind=kind,
        question_count=len(asked),
        hits={name: _average_hits(ranked, name) for name in rankings},
        refused=fmean(each.refused for each in asked),
        outcomes={name: outcomes.count(name) / len(outcomes) for name in OUTCOMES} if outcomes else None,
        strict_refused=fmean(strict) if strict else None,
    )


OUTCOMES = ("found", "weak", "refused")


def _average_hits(asked: Sequence[Asked], ranking: str) -> list[float]:
    rows = [hits_at(each.question, each.ranked[ranking]) for each in asked]
    return [fmean(column) for column in zip(*rows, strict=True)]


def hits_at(question: StoreQuestion, contents: Sequence[str]) -> list[float]:
    """hit@k of one question, for each of `RANKS`."""
    right = []
    is_outdated = False
    for content in contents:
        is_outdated = is_outdated or content in question.stale
        right.append(question.is_right(content) and not is_outdated)
    return [_hit(question, sum(right[:k]), k) for k in RANKS]


def _hit(question: StoreQuestion, found: int, k: int) -> float:
    if question.kind == OVERVIEW:
        return found / min(k, len(question.gold))
    return float(found >= _needed(question))


def _needed(question: StoreQuestion) -> int:
    return min(len(question.gold), JOIN_PARTS) if question.kind == JOIN else 1


def is_answered(question: StoreQuestion, contents: Sequence[str]) -> bool:
    """Whether the answer is among these contents."""
    return question.answerable and sum(map(question.is_right, contents)) >= _needed(question)


def store_calibration(asked: Sequence[Asked], ranking: str) -> CalibrationErrors:
    """The calibration errors over answerable and foreign questions; `ranking` is the one with confidence."""
    return CalibrationErrors.of(
        [
            Forecast(
                each.confidence,
                is_answered(each.question, each.ranked.get(ranking, ())),
                is_foreign=each.question.kind == FOREIGN,
            )
            for each in asked
            if each.question.kind != NEAR
        ]
    )
