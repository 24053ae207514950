"""Does a memory know what it does not know?

Each owner's memory is asked its own questions and those of all other owners, about which it was never told
anything. Recall says how confident it is; the area under the ROC curve is the chance that one of its own
questions gets more confidence than a foreign one. At the threshold that recall uses by default, few of the
own may be refused and most of the foreign must be. Questions that a set's authors made to be unanswerable
are near misses, much harder, and reported beside it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.datasets import Dataset, Owner, Question


@dataclass(frozen=True)
class Verdict:
    """How confident recall was about one question, and whether it refused."""

    confidence: float
    refused: bool


Judge = Callable[[Owner, Question], Awaitable[Verdict]]
"""Asks an owner's memory a question, its own or another's."""


@dataclass(frozen=True)
class Refusal:
    """One set's verdicts in numbers; what there were no questions for is None."""

    dataset: str
    own_count: int
    foreign_count: int
    unanswerable_count: int
    area: float
    own_refused: float
    foreign_refused: float
    unanswerable_area: float | None
    unanswerable_refused: float | None


async def measure_refusal(dataset: Dataset, judge: Judge) -> Refusal:
    """Ask every owner everything."""
    own = [await judge(owner, question) for owner in dataset.owners for question in owner.answerable]
    foreign = [
        await judge(owner, question)
        for owner in dataset.owners
        for other in dataset.owners
        if other is not owner
        for question in other.answerable
    ]
    near = [await judge(owner, question) for owner in dataset.owners for question in owner.unanswerable]
    return summed_up(dataset.name, own, foreign, near)


def summed_up(
    name: str, own: Sequence[Verdict], foreign: Sequence[Verdict], unanswerable: Sequence[Verdict]
) -> Refusal:
    """The numbers of a set's verdicts."""
    return Refusal(
        dataset=name,
        own_count=len(own),
        foreign_count=len(foreign),
        unanswerable_count=len(unanswerable),
        area=area_under_curve(_confidences(own), _confidences(foreign)),
        own_refused=_share_refused(own),
        foreign_refused=_share_refused(foreign),
        unanswerable_area=(
            area_under_curve(_confidences(own), _confidences(unanswerable)) if unanswerable else None
        ),
        unanswerable_refused=_share_refused(unanswerable) if unanswerable else None,
    )


def area_under_curve(high: Sequence[float], low: Sequence[float]) -> float:
    """The chance that one of `high` is greater than one of `low`; a tie counts half."""
    ordered = np.sort(np.asarray(low, np.float64))
    below = np.searchsorted(ordered, high, side="left")
    not_above = np.searchsorted(ordered, high, side="right")
    return float((below + not_above).sum() / (2 * len(high) * len(low)))


def _confidences(verdicts: Sequence[Verdict]) -> list[float]:
    return [verdict.confidence for verdict in verdicts]


def _share_refused(verdicts: Sequence[Verdict]) -> float:
    return sum(verdict.refused for verdict in verdicts) / len(verdicts)
