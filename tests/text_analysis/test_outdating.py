"""Statements are read by rules, and a newer one outdates an older one about the same."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from mnemic.text_analysis.outdating import Near, Stated, find_outdated, find_replaced
from mnemic.text_analysis.statements import STATEMENT_MAX_CHARACTERS, StatementFeatures, read_statement

JANUARY = datetime(2026, 1, 5, tzinfo=UTC)


def read(text: str) -> StatementFeatures:
    statement = read_statement(text)
    assert statement is not None
    return statement


def certainty(older: str, newer: str, *, cosine: float = 0.6, later: timedelta = timedelta(days=60)) -> float:
    """How sure it is that the second text outdates the first; 0 if it is not reported."""
    first = Stated(UUID(int=1), read(older), JANUARY)
    second = Stated(UUID(int=2), read(newer), JANUARY + later)
    found = [
        *find_outdated(second, [Near(first, cosine)], 0.12, 0.11, 40),
        *find_replaced(second, [first, second]),
    ]
    assert all((each.older_id, each.newer_id) == (UUID(int=1), UUID(int=2)) for each in found)
    assert all(each.reason for each in found)
    return max((each.certainty for each in found), default=0.0)


def test_a_statement_has_a_subject_attributes_values_and_changes() -> None:
    moved = read("We moved to 7 Mill Lane in March")
    assert ("home" in moved.attributes, "moved" in moved.changes, moved.subject) == (True, True, None)
    assert read("My sister Ana lives in Bath").subject == "sister"
    assert read("Omar's manager is Lena").subject == "omar"
    assert read("Takes 20 mg of Zelorin").values["number mg"] == {"20"}
    assert read("The meeting starts at 9:30").values["clock"] == {"9:30"}
    assert read("Anna likes tea").is_many_valued


def test_long_texts_and_texts_without_words_are_no_statements() -> None:
    assert read_statement("word " * STATEMENT_MAX_CHARACTERS) is None
    assert read_statement("… ??") is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Ana lives in a flat in Porto", "Ana has moved to a house in Braga"),
        ("I take 20 mg of Zelorin every evening", "My doctor raised Zelorin, I take 40 mg now"),
        ("The door code of the studio is 4417", "The studio's door code was changed to 9021"),
        ("The capital of Ruritania is Strelsau", "The capital of Ruritania is Zenda"),
        ("The review is planned for 3 May", "The review was postponed to 9 June"),
        ("Omar's boss is Lena", "Omar now reports to Jo"),
    ],
)
def test_a_newer_statement_about_the_same_outdates_an_older_one(older: str, newer: str) -> None:
    assert certainty(older, newer) > 0.2


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Ana likes tea", "Ana likes coffee"),
        ("Ana visited Rome", "Ana visited Oslo"),
        ("My sister lives in Bath", "I bought a red bicycle"),
        ("The capital of Ruritania is Strelsau", "The capital of Graustark is Edelweiss"),
        ("Tom is a nurse", "Tom is a father"),
        ("Jo is working on a novel", "Jo is working on a garden shed"),
        ("Jo lives in Bath", "Jo would love to live in Oslo"),
        ("Jo lives in Bath", "Years ago Jo lived in Oslo"),
        ("Jo lives in Bath", "Does Jo live in Oslo?"),
        ("Jo lives in Bath", "Jo lives in Bath, near the harbour"),
        ("Jo lives in Bath", "Jo lives with two cats"),
        ("Jo lives in Bath", "Jo moved the couch to the garden"),
        ("Jo flew to Bath on Monday", "Jo flew to Oslo on Friday"),
        ("Jo reports to Ana", "Ana reports to Lena"),
        ("Jo's phone number is 4417", "Jo's badge number is 9021"),
        ("The kickoff of project Heron is on Monday", "The kickoff of project Stork is on Friday"),
    ],
)
def test_statements_that_are_both_true_do_not_outdate_each_other(older: str, newer: str) -> None:
    assert certainty(older, newer) == 0.0


def test_statements_of_one_sitting_outdate_each_other_only_in_the_same_words() -> None:
    soon = timedelta(minutes=5)
    assert certainty("Zelorin: 20 mg", "Zelorin: 40 mg now", later=soon) == 0.0
    assert certainty("Zelorin: 20 mg", "Zelorin: 40 mg now") > 0.2
    assert certainty("The capital of Ruritania is Strelsau", "The capital of Ruritania is Zenda", later=soon)
