"""Metrics of a ranking: how much of the evidence is among its first k, question by question.

A ranking is a list of ids, best first. Where evidence is conversations, a conversation has the rank of its
first memory; a long text that was stored as several memories has the rank of the first of them.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from statistics import fmean

from bench.datasets import Question, Unit

EVERYTHING = "all"
"""The name of the average over all categories."""

Measure = Callable[[Set[str], Sequence[str]], float]
"""From the evidence and a ranking to a number from 0 to 1."""


@dataclass(frozen=True)
class Answered:
    """A question and its ranking, best first."""

    question: Question
    ranked: tuple[str, ...]


@dataclass(frozen=True)
class Averages:
    """Metrics of a category, averaged over its questions."""

    category: str
    question_count: int
    values: dict[str, float]


def fraction_at(k: int) -> Measure:
    """The fraction of the evidence among the first k."""
    return lambda evidence, ranked: len(evidence & set(ranked[:k])) / len(evidence)


def any_at(k: int) -> Measure:
    """1 if any of the evidence is among the first k, else 0."""
    return lambda evidence, ranked: float(not evidence.isdisjoint(ranked[:k]))


def all_at(k: int) -> Measure:
    """1 if all of the evidence is among the first k, else 0."""
    return lambda evidence, ranked: float(evidence <= set(ranked[:k]))


MEASURES: dict[Unit, dict[str, Measure]] = {
    "turn": {f"R@{k}": fraction_at(k) for k in (5, 10, 25, 50)},
    "conversation": {
        "any@5": any_at(5),
        "any@10": any_at(10),
        "all@5": all_at(5),
        "all@10": all_at(10),
    },
}

LIMITS: dict[Unit, int] = {"turn": 50, "conversation": 100}
"""The `limit` of recall: enough for the largest k; ten conversations need more memories."""

COMBINED = {"all but adversarial": {"multi-hop", "temporal", "open-domain", "single-hop"}}
"""Categories that papers also average together."""


def first_appearances(ids: Iterable[str]) -> tuple[str, ...]:
    """Each id once, in the order of first appearance."""
    return tuple(dict.fromkeys(ids))


def averages(answered: Sequence[Answered], unit: Unit) -> list[Averages]:
    """First all questions, then combinations that the papers use, then each category."""
    categories = sorted({each.question.category for each in answered})
    groups = {EVERYTHING: set(categories)}
    groups |= {name: members for name, members in COMBINED.items() if members <= set(categories)}
    groups |= {category: {category} for category in categories}
    return [
        _average(name, [each for each in answered if each.question.category in members], unit)
        for name, members in groups.items()
    ]


def _average(category: str, answered: Sequence[Answered], unit: Unit) -> Averages:
    values = {
        label: fmean(measure(each.question.evidence, each.ranked) for each in answered)
        for label, measure in MEASURES[unit].items()
    }
    return Averages(category, len(answered), values)
