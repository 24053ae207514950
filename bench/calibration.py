"""Calibration of `confidence`: how far it is from the probability that the answer is among the hits.

Expected calibration error: questions are put into ten bins of equal width by their confidence; in each bin,
the distance between the mean confidence and the share of questions whose answer is among the ten best hits
(refusal off); averaged over the bins, weighted by their number of questions. Asked are answerable questions
and foreign ones, whose answer is never among the hits. 0 is perfect.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BINS = 10
HITS = 10
"""Hits among which the answer must be."""

CALIBRATION_TARGET = 0.08


@dataclass(frozen=True)
class Forecast:
    """The confidence of recall for one question, and whether the answer is among the hits."""

    confidence: float
    is_answered: bool


def calibration_error(forecasts: Sequence[Forecast]) -> float:
    """The expected calibration error; 0 without forecasts."""
    confidences = np.array([each.confidence for each in forecasts], np.float64)
    answered = np.array([each.is_answered for each in forecasts], np.float64)
    # Confidence 1 belongs to the last bin.
    bins = np.minimum((confidences * BINS).astype(np.int64), BINS - 1)
    distances = (abs((confidences - answered)[bins == each].sum()) for each in range(BINS))
    return float(sum(distances) / max(len(forecasts), 1))
