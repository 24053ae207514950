"""Tables of question answering: the mean score of each set and category, and what it cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from rich.console import Console

from bench.qa_data import ADVERSARIAL
from bench.qa_results import Answered
from bench.report import table_of

EVERYTHING = "all"
WITHOUT_ADVERSARIAL = "all but adversarial"
"""As most published results of LoCoMo are averaged."""


@dataclass(frozen=True)
class Scores:
    """The mean score of a category of a set, from 0 to 1."""

    set: str
    category: str
    question_count: int
    score: float


def scores_of(answered: Sequence[Answered]) -> list[Scores]:
    """By set: all questions, all but adversarial ones where there are some, then each category."""
    return [
        each
        for name in dict.fromkeys(one.set for one in answered)
        for each in _set_scores(name, [one for one in answered if one.set == name])
    ]


def _set_scores(name: str, answered: Sequence[Answered]) -> Iterator[Scores]:
    yield _mean(name, EVERYTHING, answered)
    others = [each for each in answered if each.category != ADVERSARIAL]
    if 0 < len(others) < len(answered):
        yield _mean(name, WITHOUT_ADVERSARIAL, others)
    for category in sorted({each.category for each in answered}):
        yield _mean(name, category, [each for each in answered if each.category == category])


def _mean(name: str, category: str, answered: Sequence[Answered]) -> Scores:
    return Scores(name, category, len(answered), fmean(each.score for each in answered))


def show(console: Console, scores: Sequence[Scores]) -> None:
    """Print the table."""
    table = table_of("Question answering", "set", "category", "questions", "score")
    for each in scores:
        table.add_row(each.set, each.category, f"{each.question_count:,}", f"{each.score:.3f}")
    console.print(table)
