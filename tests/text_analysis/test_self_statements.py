"""Typed statements: nearly always right, and quiet where nothing is asserted."""

import re
from collections.abc import Iterator

import pytest

from mnemic.text_analysis.self_statements import Reading, read_self_statements
from tests.text_analysis.heldout_statements import HELDOUT, LATER
from tests.text_analysis.labelled_statements import LABELLED, SPEAKER

PRECISION_MIN = 0.95
RECALL_MIN = 0.85

_LABEL = re.compile(
    r"(?P<mark>[!~]?)(?:@(?P<subject>.+?) )?(?P<mark2>[!~]?)(?P<attribute>[\w-]+) = (?P<value>.+)"
)
Label = tuple[str, str, str, str]


def labelled() -> list[tuple[str, set[Label]]]:
    texts = []
    for line in LABELLED.strip().splitlines():
        text, _, labels = line.partition(" =>")
        texts.append((text, {label_of(each) for each in labels.strip().split("; ") if each}))
    return texts


def label_of(text: str) -> Label:
    matched = _LABEL.fullmatch(text.strip())
    assert matched, text
    return (
        matched["mark"] or matched["mark2"],
        matched["subject"] or SPEAKER,
        matched["attribute"],
        matched["value"],
    )


def heldout(lines: str) -> Iterator[tuple[str, list[set[Label]], set[Label]]]:
    """Each text, what must be noted (one label of each set), and all that may be noted."""
    for line in lines.strip().replace("\n    ", " ").splitlines():
        text, _, labels = line.partition(" =>")
        required, allowed = [], set()
        for each in filter(None, labels.strip().split("; ")):
            first, *others = each.removeprefix("?").split(" | ")
            attribute = first.partition(" = ")[0]
            same = {label_of(first)}
            same |= {label_of(other if " = " in other else f"{attribute} = {other}") for other in others}
            allowed |= same
            if not each.startswith("?"):
                required.append(same)
        yield text, required, allowed


def found_in(text: str) -> set[Label]:
    is_note = text.startswith("NOTE: ")
    readings = read_self_statements(text.removeprefix("NOTE: "), SPEAKER, is_note=is_note)
    return {(mark_of(each), each.subject, each.attribute, each.value) for each in readings}


def mark_of(reading: Reading) -> str:
    return "!" if reading.is_negated else "~" if reading.tense == "past" else ""


def test_typed_slots_are_right_and_hard_negatives_are_left_alone() -> None:
    texts = labelled()
    assert len(texts) >= 200
    found = {(text, label) for text, _ in texts for label in found_in(text)}
    wanted = {(text, label) for text, labels in texts for label in labels}
    wrong, missed = sorted(found - wanted), sorted(wanted - found)
    assert len(found & wanted) / len(found) >= PRECISION_MIN, wrong
    assert len(found & wanted) / len(wanted) >= RECALL_MIN, missed


@pytest.mark.parametrize("lines", [HELDOUT, LATER], ids=["first", "later"])
def test_slots_are_right_on_texts_that_the_rules_were_not_made_with(lines: str) -> None:
    texts = list(heldout(lines))
    found = {(text, label) for text, _, _ in texts for label in found_in(text)}
    right = {(text, label) for text, _, allowed in texts for label in allowed} & found
    missed = [text for text, required, _ in texts for each in required if each.isdisjoint(found_in(text))]
    required_count = sum(len(required) for _, required, _ in texts)
    assert len(texts) >= 180
    assert len(right) / len(found) >= PRECISION_MIN, sorted(found - right)
    assert 1 - len(missed) / required_count >= RECALL_MIN, missed


def test_a_statement_can_be_understood_alone(subtests: pytest.Subtests) -> None:
    for text, expected in (
        ("I live in Oslo.", "The user lives in Oslo."),
        ("I don't live in Oslo anymore.", "The user no longer lives in Oslo."),
        ("I'm not allergic to cats.", "The user is not allergic to cats."),
        ("I used to work at Nokia.", "The user used to work at Nokia."),
        ("My favourite colour is teal.", "The user's favourite colour is teal."),
        ("My sister Ingrid lives in Bergen.", "The user's sister is Ingrid."),
        ("I love my allotment.", "The user likes their allotment."),
        ("I take 20 mg of citalopram.", "The user takes 20 mg of citalopram."),
    ):
        with subtests.test(text):
            assert read_self_statements(text, "The user")[0].statement == expected


def test_predicates_that_share_a_subject_are_all_read(subtests: pytest.Subtests) -> None:
    for text, expected in (
        ("I live in Oslo and work at Acme.", ["lives_in = Oslo", "works_at = Acme"]),
        ("I moved to Bath last year and work as a nurse.", ["lives_in = Bath", "works_as = a nurse"]),
        ("NOTE: Alice lives in Oslo and works at Acme.", ["lives_in = Oslo", "works_at = Acme"]),
        ("I want to live in Oslo and work at Acme.", []),
        ("I used to live in Oslo and work at Acme.", ["~lives_in = Oslo"]),
        ("I have a son who lives in Oslo and works at Acme.", []),
        ("I have friends who live in Oslo and work at Acme.", []),
        ("I like to live alone and work at Acme if I can.", []),
    ):
        with subtests.test(text):
            found = [(mark, attribute, value) for mark, _, attribute, value in found_in(text)]
            current = [each for each in found if each[1] in ("lives_in", "works_at", "works_as")]
            assert sorted(f"{mark}{attribute} = {value}" for mark, attribute, value in current) == expected


def test_a_correction_is_marked_only_if_it_fills_a_slot() -> None:
    (reading,) = read_self_statements("No wait, actually I live in Leeds.", "Ana")
    assert (reading.is_correction, reading.statement) == (True, "Ana lives in Leeds.")
    assert read_self_statements("Sorry, I haven't written.", "Ana") == []
    assert read_self_statements("No, I meant Leeds.", "Ana") == []


def test_without_a_name_for_the_speaker_i_is_nobody() -> None:
    assert read_self_statements("I live in Oslo. My sister Ana lives in Bath.", None, is_note=True) == []
