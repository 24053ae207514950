"""Calibration of `confidence`: how far it is from the probability that the answer is among the hits.

Expected calibration error: questions are put into ten bins of equal width by their confidence; in each bin,
the distance between the mean confidence and the share of questions whose answer is among the ten best hits
(refusal off); averaged over the bins, weighted by their number of questions. Asked are answerable questions
and foreign ones, whose answer is never among the hits. 0 is perfect.

How probable an answer is also depends on how many foreign questions are asked: of the same confidences, some
that are right where one question in two is foreign are far too high where 59 in 60 are. Recall cannot know
that share. So there are two figures: *balanced*, where foreign questions together weigh as much as the
answerable ones, which compares between sets; and *as asked*, where every question weighs the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bench.report import ReportLine

BINS = 10
HITS = 10
"""Hits among which the answer must be."""

CALIBRATION_TARGET = 0.08
"""For the balanced error."""


@dataclass(frozen=True)
class Forecast:
    """The confidence of recall for one question, and whether the answer is among the hits."""

    confidence: float
    is_answered: bool
    is_foreign: bool = False


@dataclass(frozen=True)
class CalibrationErrors:
    """The expected calibration error, by how foreign questions weigh."""

    balanced: float
    as_asked: float

    @classmethod
    def of(cls, forecasts: Sequence[Forecast]) -> "CalibrationErrors":
        """Both errors."""
        foreign_count = sum(each.is_foreign for each in forecasts)
        own_count = len(forecasts) - foreign_count
        # Without one of the two kinds there is nothing to balance.
        is_mixed = foreign_count > 0 and own_count > 0
        foreign_weight = own_count / foreign_count if is_mixed else 1.0
        balanced = [foreign_weight if each.is_foreign else 1.0 for each in forecasts]
        return cls(calibration_error(forecasts, balanced), calibration_error(forecasts))


def calibration_error(forecasts: Sequence[Forecast], weights: Sequence[float] | None = None) -> float:
    """The expected calibration error; 0 without forecasts. Without `weights` all weigh the same."""
    if not forecasts:
        return 0.0
    confidences = np.array([each.confidence for each in forecasts], np.float64)
    answered = np.array([each.is_answered for each in forecasts], np.float64)
    weighed = np.ones(len(forecasts)) if weights is None else np.array(weights, np.float64)
    # Confidence 1 belongs to the last bin.
    bins = np.minimum((confidences * BINS).astype(np.int64), BINS - 1)
    excess = weighed * (confidences - answered)
    distances = (abs(excess[bins == each].sum()) for each in range(BINS))
    return float(sum(distances) / weighed.sum())


def calibration_lines(name: str, errors: CalibrationErrors) -> Iterator[ReportLine]:
    """Both errors of a set, the balanced one beside its target."""
    what = f"{name}, calibration error of confidence"
    is_met = errors.balanced <= CALIBRATION_TARGET
    yield ReportLine(what, f"{errors.balanced:.3f}", f"≤ {CALIBRATION_TARGET}", is_met)
    yield ReportLine(f"{what}, as asked", f"{errors.as_asked:.3f}")
