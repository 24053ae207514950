"""Whether a newer statement outdates an older one: both give the same attribute of the same subject.

Without a model nobody knows what two sentences mean, so several weak signs are added, and the logistic
function makes them a certainty: the statements are near neighbours by vector, they share names and an
attribute, they give different values of the same kind, the newer one announces a change ("now", "no longer",
"moved", "raised to"). Two statements of one frame ("The capital of X is …", `frames`) are about the same by
their form alone, and need not be neighbours.

The weights were fitted once (logistic regression on the pairs of ten small stores, 38 of them outdated, and
on 1,200 facts of conversations, none of them), then rounded; the weight of another relative was set by hand.
Left out one store at a time, 29 of 38 were found with 11 false ones; among the 1,200 facts 4 were.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from mnemic.text_analysis.frames import CERTAINTY_OF_FRAMES, REASON_OF_FRAMES
from mnemic.text_analysis.statement_words import (
    ATTRIBUTES_OF_ONE_VALUE,
    KIN,
    WEAK_CHANGES,
)
from mnemic.text_analysis.statements import StatementFeatures

CERTAINTY_MIN = 0.2
"""Pairs below this are not reported: most of them would be wrong."""
ATTRIBUTE_MAX_CHARACTERS = 64
SESSION = timedelta(hours=1)
"""Statements of one sitting tell different things; only equal frames outdate each other within it."""
COMPARED_MAX = 12
"""How many of a statement's neighbours are compared with it, the nearest ones."""
RESTATED_SHARE = 0.8
"""Statements that share this many of their words and give no other value say the same again."""
STANDARD_SCORE_MAX = 5.0
NAMES_MAX = 4.0
NEAREST = 2
"""The first of the neighbours are its nearest."""
VALUES_SHOWN_MAX = 3
# Prior of the mean and the standard deviation of cosines, and the number of memories that it counts as.
PRIOR_MEAN, PRIOR_DEVIATION, PRIOR_MEMORIES = 0.12, 0.11, 20.0

OFFSET = -7.9
WEIGHT_STANDARD_SCORE = 0.3
WEIGHT_NEAREST = 1.3
WEIGHT_CHANGE = 1.6
WEIGHT_CHANGES = 1.2
WEIGHT_NAMES = 0.6
WEIGHT_OTHER_VALUE = 1.1
WEIGHT_ATTRIBUTE = 2.0
WEIGHT_ATTRIBUTE_OF_ONE_VALUE = 1.0
WEIGHT_CHANGE_OF_ONE_VALUE = 1.9
WEIGHT_OTHER_SUBJECT = -1.0
WEIGHT_OTHER_RELATIVE = -2.5
WEIGHT_MANY_VALUED = -0.9
WEIGHT_EQUAL_VALUE = 1.3
WEIGHT_OTHER_VALUE_OF_ATTRIBUTE = 0.6
WEIGHT_RESTATED = -0.2


@dataclass(frozen=True, slots=True)
class Stated:
    """A statement of a memory, when it happened or was stored, and who said it, if anybody."""

    memory_id: UUID
    statement: StatementFeatures
    at: datetime
    speaker: str | None = None

    @property
    def frame_key(self) -> str | None:
        """The key that statements about the same attribute of the same subject share; None without frame."""
        return self.statement.frame.key_of(self.speaker) if self.statement.frame is not None else None


@dataclass(frozen=True, slots=True)
class Near:
    """A neighbour of a statement, and their cosine."""

    stated: Stated
    cosine: float


@dataclass(frozen=True, slots=True)
class Outdated:
    """The older memory is outdated by the newer one: how sure that is, and why."""

    older_id: UUID
    newer_id: UUID
    certainty: float
    attribute: str | None
    reason: str


def find_outdated(
    stated: Stated, neighbours: Sequence[Near], mean: float, deviation: float, count: int
) -> Iterator[Outdated]:
    """Pairs of a statement and one of its neighbours of which the newer one outdates the older one.

    `neighbours` come nearest first. `mean` and `deviation` are of the cosines of the `count` memories that
    the statement was compared with.
    """
    mean, deviation = _smoothed(mean, deviation, count)
    frequencies = Counter(word for near in neighbours for word in near.stated.statement.words)
    frequencies.update(stated.statement.words)
    for rank, near in enumerate(neighbours[:COMPARED_MAX]):
        score = min((near.cosine - mean) / deviation, STANDARD_SCORE_MAX)
        closeness = WEIGHT_STANDARD_SCORE * score + WEIGHT_NEAREST * (rank < NEAREST)
        older, newer = sorted((stated, near.stated), key=lambda each: (each.at, each.memory_id))
        found = _compare(older, newer, closeness, frequencies, len(neighbours) + 2)
        if found.certainty >= CERTAINTY_MIN:
            yield found


def find_replaced(stated: Stated, others: Sequence[Stated]) -> Iterator[Outdated]:
    """Pairs of a statement and others of the same frame that give another value, near or not."""
    key, frame = stated.frame_key, stated.statement.frame
    for other in others:
        other_frame = other.statement.frame
        if frame is None or other_frame is None or other.frame_key != key or other is stated:
            continue
        if frame.gives_other_value(other_frame):
            older, newer = sorted((stated, other), key=lambda each: (each.at, each.memory_id))
            attribute = frame.attribute[:ATTRIBUTE_MAX_CHARACTERS]
            yield Outdated(older.memory_id, newer.memory_id, CERTAINTY_OF_FRAMES, attribute, REASON_OF_FRAMES)


def _smoothed(mean: float, deviation: float, count: int) -> tuple[float, float]:
    """Mean and standard deviation of the cosines, shrunk towards the prior when few are known."""
    share = PRIOR_MEMORIES / (PRIOR_MEMORIES + count)
    variance = (1 - share) * deviation**2 + share * PRIOR_DEVIATION**2
    return (1 - share) * mean + share * PRIOR_MEAN, math.sqrt(variance)


def _compare(
    older: Stated, newer: Stated, closeness: float, frequencies: Counter[str], total: int
) -> Outdated:
    before, after = older.statement, newer.statement
    attributes = before.attributes & after.attributes
    if newer.at - older.at < SESSION or before.words == after.words or _both_hold(before, after):
        certainty, reason = 0.0, ""
    else:
        names = sum(math.log(total / frequencies[name]) for name in _shared_names(before, after))
        signs = closeness + WEIGHT_NAMES * min(names, NAMES_MAX) + _signs(before, after)
        certainty, reason = 1 / (1 + math.exp(-signs - OFFSET)), _reason(before, after, attributes)
    attribute = min(attributes, key=lambda name: (name not in ATTRIBUTES_OF_ONE_VALUE, name), default=None)
    return Outdated(older.memory_id, newer.memory_id, certainty, attribute, reason)


def _both_hold(before: StatementFeatures, after: StatementFeatures) -> bool:
    """Whether the form of two statements says that the newer one leaves the older one as it is."""
    announced = after.changes - before.changes
    if before.frame is not None and after.frame is not None:
        shared = before.attributes & after.attributes & ATTRIBUTES_OF_ONE_VALUE
        return (
            before.frame.key == after.frame.key or before.frame.subject != after.frame.subject or not shared
        )
    if not after.is_assertion and not announced:
        return True
    if announced - WEAK_CHANGES:
        return False
    is_elaborated = before.words <= after.words and not _compared_values(before, after)[0]
    # "lives in Bath", "lives with two cats": nothing in the newer one could take the place of the name.
    gives_no_name = (
        before.frame is not None
        and before.frame.gives_name
        and after.names <= before.words
        and before.values.keys().isdisjoint(after.values)
    )
    return is_elaborated or gives_no_name or (before.is_event and after.is_event)


def _signs(before: StatementFeatures, after: StatementFeatures) -> float:
    """The weighted signs that two statements themselves have."""
    attributes = before.attributes & after.attributes
    is_of_one_value = bool(attributes & ATTRIBUTES_OF_ONE_VALUE)
    strong_changes = len(after.changes - WEAK_CHANGES)
    has_other, has_equal = _compared_values(before, after)
    shared, fewer = len(before.words & after.words), min(len(before.words), len(after.words))
    return (
        WEIGHT_CHANGE * (1.0 if strong_changes else 0.5 if after.changes else 0.0)
        + WEIGHT_CHANGES * (strong_changes > 1)
        + WEIGHT_OTHER_VALUE * has_other
        + WEIGHT_EQUAL_VALUE * has_equal
        + WEIGHT_ATTRIBUTE * bool(attributes)
        + WEIGHT_OTHER_VALUE_OF_ATTRIBUTE * (has_other and bool(attributes))
        + WEIGHT_ATTRIBUTE_OF_ONE_VALUE * is_of_one_value
        + WEIGHT_CHANGE_OF_ONE_VALUE * (is_of_one_value and bool(after.changes))
        + WEIGHT_OTHER_SUBJECT * _have_other_subjects(before, after)
        + WEIGHT_OTHER_RELATIVE * ((before.subject in KIN) != (after.subject in KIN))
        + WEIGHT_MANY_VALUED * (before.is_many_valued and after.is_many_valued)
        + WEIGHT_RESTATED * (shared >= RESTATED_SHARE * fewer and not has_other)
    )


def _shared_names(before: StatementFeatures, after: StatementFeatures) -> frozenset[str]:
    return (before.names & after.words) | (after.names & before.words)


def _compared_values(before: StatementFeatures, after: StatementFeatures) -> tuple[bool, bool]:
    """Whether both give values of one kind that differ, and whether both give an equal one."""
    kinds = before.values.keys() & after.values.keys()
    equal = [bool(before.values[kind] & after.values[kind]) for kind in kinds]
    return not all(equal), any(equal)


def _have_other_subjects(before: StatementFeatures, after: StatementFeatures) -> bool:
    if before.subject is None or after.subject is None or before.subject == after.subject:
        return False
    return before.subject not in after.words and after.subject not in before.words


def _reason(before: StatementFeatures, after: StatementFeatures, attributes: frozenset[str]) -> str:
    """One sentence for people: what both are about, and what is new."""
    about = f"about the same ({', '.join(sorted(attributes))})" if attributes else "about the same"
    values = sorted(
        value
        for kind in before.values.keys() & after.values.keys()
        for value in after.values[kind] - before.values[kind]
    )
    new = f", with another value ({', '.join(values[:VALUES_SHOWN_MAX])})" if values else ""
    change = " and announces a change" if after.changes else ""
    return f"It is {about}{new}{change}."
