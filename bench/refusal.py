"""Refusal: how well recall distinguishes questions that a memory can answer from others.

Each owner's memory is asked its own questions and those of all other owners (foreign questions), about which
it contains nothing. The area under the ROC curve is the probability that an own question gets more confidence
than a foreign one. At the default threshold, recall should refuse few own questions and most foreign ones.
Questions that a dataset's authors made unanswerable are near misses; they are much harder and reported
separately. The calibration errors are those of own and foreign questions together (`bench/calibration.py`);
an own question is answered if any of its evidence is among the ten hits.

LongMemEval fills the chats of all owners from one pool, so that an owner may have the evidence of another
one's question. A foreign question has *shared evidence* if the owner that is asked has a turn of its
evidence, or all turns of a chat of it, word by word. Their number is reported, and the figures without them.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.calibration import CalibrationErrors, Forecast
from bench.datasets import Dataset, Owner, Question, Unit


@dataclass(frozen=True)
class Verdict:
    """The confidence for one question, whether recall refused, and whether the answer is among ten hits.

    The hits are those with refusal off; a foreign question is never answered.
    """

    confidence: float
    refused: bool
    is_answered: bool
    has_shared_evidence: bool = False


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
    shared_evidence_count: int = 0
    area_without_shared: float | None = None
    foreign_refused_without_shared: float | None = None


async def measure_refusal(dataset: Dataset, ask: Ask) -> Refusal:
    """Ask every owner all questions of the dataset."""
    own = [await ask(owner, question) for owner in dataset.owners for question in owner.answerable]
    texts = {owner.name: {turn.content for turn in owner.turns} for owner in dataset.owners}
    foreign = []
    for other in dataset.owners:
        evidence = _texts_by_unit(other, dataset.unit)
        for question in other.answerable:
            units = [evidence[unit] for unit in question.evidence]
            for owner in dataset.owners:
                if owner is not other:
                    is_shared = any(unit and unit <= texts[owner.name] for unit in units)
                    foreign.append(replace(await ask(owner, question), has_shared_evidence=is_shared))
    near = [await ask(owner, question) for owner in dataset.owners for question in owner.unanswerable]
    return summarise(dataset.name, own, foreign, near)


def summarise(
    name: str, own: Sequence[Verdict], foreign: Sequence[Verdict], unanswerable: Sequence[Verdict]
) -> Refusal:
    """Summary of the verdicts of a dataset."""
    unshared = [each for each in foreign if not each.has_shared_evidence]
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
        shared_evidence_count=len(foreign) - len(unshared),
        area_without_shared=area_under_curve(_confidences(own), _confidences(unshared)) if unshared else None,
        foreign_refused_without_shared=_share_refused(unshared) if unshared else None,
    )


def _texts_by_unit(owner: Owner, unit: Unit) -> dict[str, set[str]]:
    """The texts of each turn, or of each conversation."""
    texts = defaultdict(set)
    for turn in owner.turns:
        texts[turn.turn_id if unit == "turn" else turn.conversation].add(turn.content)
    return texts


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
