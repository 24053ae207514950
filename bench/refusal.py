"""Refusal: how well recall distinguishes questions that a memory can answer from others.

Each owner's memory is asked its own questions and those of all other owners (foreign questions), about which
it contains nothing. The area under the ROC curve is the probability that an own question gets more confidence
than a foreign one. At the default threshold, recall should refuse few own questions and most foreign ones.
Questions that a dataset's authors made unanswerable are near misses; they are much harder and reported
separately. The calibration errors are those of own and foreign questions together (`bench/calibration.py`);
an own question is answered if any of its evidence is among the ten hits.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.calibration import CalibrationErrors, Forecast
from bench.datasets import Dataset, Owner, Question


@dataclass(frozen=True)
class Verdict:
    """The confidence for one question, whether recall refused, and whether the answer is among ten hits.

    The hits are those with refusal off; a foreign question is never answered.
    """

    confidence: float
    refused: bool
    is_answered: bool


Ask = Callable[[Owner, Question], Awaitable[Verdict]]
"""Asks an owner's memory a question, its own or another's."""


@dataclass(frozen=True)
class Refusal:
    """Refusal on one dataset; None where the dataset has no unanswerable questions."""

    dataset: str
    own_count: int
    foreign_count: int
    unanswerable_count: int
    area: float
    own_refused: float
    foreign_refused: float
    unanswerable_area: float | None
    unanswerable_refused: float | None
    calibration: CalibrationErrors


async def measure_refusal(dataset: Dataset, ask: Ask) -> Refusal:
    """Ask every owner all questions of the dataset."""
    own = [await ask(owner, question) for owner in dataset.owners for question in owner.answerable]
    foreign = [
        await ask(owner, question)
        for owner in dataset.owners
        for other in dataset.owners
        if other is not owner
        for question in other.answerable
    ]
    near = [await ask(owner, question) for owner in dataset.owners for question in owner.unanswerable]
    return summarise(dataset.name, own, foreign, near)


def summarise(
    name: str, own: Sequence[Verdict], foreign: Sequence[Verdict], unanswerable: Sequence[Verdict]
) -> Refusal:
    """Summary of the verdicts of a dataset."""
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
        calibration=CalibrationErrors.of(
            [Forecast(each.confidence, each.is_answered) for each in own]
            + [Forecast(each.confidence, each.is_answered, is_foreign=True) for each in foreign]
        ),
    )


def area_under_curve(high: Sequence[float], low: Sequence[float]) -> float:
    """The probability that one of `high` is greater than one of `low`; a tie counts half."""
    ordered = np.sort(np.asarray(low, np.float64))
    below = np.searchsorted(ordered, high, side="left")
    not_above = np.searchsorted(ordered, high, side="right")
    return float((below + not_above).sum() / (2 * len(high) * len(low)))


def _confidences(verdicts: Sequence[Verdict]) -> list[float]:
    return [verdict.confidence for verdict in verdicts]


def _share_refused(verdicts: Sequence[Verdict]) -> float:
    return sum(verdict.refused for verdict in verdicts) / len(verdicts)
