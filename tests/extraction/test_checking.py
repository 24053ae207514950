"""What is accepted of the proposals of an extractor, and why the rest is not."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from mnemic.extraction.checking import STATEMENTS_PER_SOURCE_MAX, Rejection, check_statements
from mnemic.extraction.protocol import KnownStatement, ProposedStatement, SourceText

AT = datetime(2026, 3, 1, tzinfo=UTC)


def turn(text: str, role: str | None = "user", name: str | None = None) -> SourceText:
    return SourceText(uuid4(), text, role, name, AT, 0)


def proposed(source: SourceText, quotation: str, **fields: object) -> ProposedStatement:
    proposal = ProposedStatement(
        source.memory_id, quotation, "The user lives in Oslo.", "The user", "lives_in", "Oslo"
    )
    return replace(proposal, **fields)  # type: ignore[arg-type]


def reason(
    proposal: ProposedStatement, *sources: SourceText, known: tuple[KnownStatement, ...] = ()
) -> Rejection | None:
    checked = check_statements([proposal], sources, known)
    assert len(checked.accepted) + len(checked.rejected) == 1
    return checked.rejected[0].reason if checked.rejected else None


def test_a_verbatim_quotation_is_accepted_whatever_its_blanks_and_quotation_marks() -> None:
    source = turn("Well, I’ve  lived\nhere for long. I live in\u00a0Oslo now.")
    assert reason(proposed(source, "I live in Oslo now"), source) is None
    assert reason(proposed(source, "I live near Oslo now"), source) == "quotation not found"
    assert reason(proposed(source, "Oslo"), source) == "quotation too short"
    assert reason(replace(proposed(source, "I live in Oslo"), source_id=uuid4()), source) == "unknown source"


def test_names_and_numbers_must_have_been_said(subtests: pytest.Subtests) -> None:
    source = turn("I live in Oslo with my two cats.")
    quotation = "I live in Oslo"
    for statement, expected in (
        ("The user lives in Oslo.", None),
        ("The user lives in Oslo near Bergen.", "unsupported name"),
        ("The user has lived in Oslo for 12 years.", "unsupported number"),
        ("Since 1 March 2026 the user has lived in Oslo.", None),
    ):
        with subtests.test(statement):
            assert reason(proposed(source, quotation, statement=statement), source) == expected
    assert reason(proposed(source, quotation, value="Bergen"), source) == "unsupported name"
    other = turn("It is in Bergen.", role="assistant")
    assert reason(proposed(source, quotation, value="Bergen"), source, other) is None


def test_an_assistant_testifies_only_about_itself(subtests: pytest.Subtests) -> None:
    for role, name, subject, is_accepted in (
        ("user", None, "The user", True),
        ("user", None, "The user's sister", True),
        ("user", None, "Ana", True),
        ("assistant", None, "The user", False),
        ("assistant", None, "The user's sister", False),
        ("assistant", None, "Ana", False),
        ("assistant", None, "The assistant", True),
        ("system", None, "The user", False),
        ("tool", None, "The user", False),
        ("stranger", None, "The user", False),
        (None, "Ana", "Ana", True),
        (None, "Ana", "Ana's sister", True),
        (None, "Ana", "Ben", False),
        (None, "Ana", "The user", False),
        (None, None, "Ana", True),
    ):
        with subtests.test(f"{role} {name} about {subject}"):
            source = turn("They live in Oslo, Ana and Ben.", role, name)
            other = turn("Right.", None, "Ben") if name else turn("Right.")
            statement = f"{subject} lives in Oslo."
            proposal = proposed(source, "They live in Oslo", subject=subject, statement=statement)
            assert (reason(proposal, source, other) is None) == is_accepted


def test_only_assertions_in_the_speakers_own_words_count(subtests: pytest.Subtests) -> None:
    for text, expected in (
        ("Do I live in Oslo?", "question"),
        ("If I live in Oslo, I need a coat.", "hypothetical"),
        ("I wish that I live in Oslo one day.", "hypothetical"),
        ("She told me: “I live in Oslo.”", "quoted"),
        ("```\nI live in Oslo\n```", "quoted"),
        ("> I live in Oslo", "quoted"),
        ("[2026-03-01] I live in Oslo", "quoted"),
        (f"[2026-03-01, {UUID(int=5)}] Ana: hello\n  I live in Oslo", "quoted"),
        ("I live in Oslo, in the house called “Sol”.", None),
    ):
        with subtests.test(text):
            source = turn(text)
            assert reason(proposed(source, "I live in Oslo"), source) == expected


def test_a_source_gives_a_bounded_number_of_statements() -> None:
    source = turn("I live in Oslo.")
    checked = check_statements([proposed(source, "I live in Oslo")] * 9, [source])
    assert len(checked.accepted) == STATEMENTS_PER_SOURCE_MAX
    assert {each.reason for each in checked.rejected} == {"too many"}


def test_a_statement_replaces_only_what_the_extractor_was_shown() -> None:
    source = turn("No, I live in Oslo.")
    known = KnownStatement(uuid4(), "The user lives in Bath.", "The user", "lives_in", "Bath")
    proposal = proposed(source, "I live in Oslo", replaces=known.memory_id)
    assert reason(proposal, source, known=(known,)) is None
    assert reason(proposal, source) == "unknown replacement"
    assert reason(proposal, source, known=(replace(known, attribute="name"),)) == "unknown replacement"


def test_invalid_fields_are_rejected(subtests: pytest.Subtests) -> None:
    source = turn("I live in Oslo.")
    for fields in (
        {"subject": " "},
        {"value": "a\0b"},
        {"value": "\ud800"},
        {"statement": "long " * 2_000},
        {"attribute": "lives\nin"},
        {"category": "gossip"},
        {"certainty": "sure"},
        {"entities": ("Ana",) * 99},
    ):
        with subtests.test(str(fields)[:40]):
            assert reason(proposed(source, "I live in Oslo", **fields), source) == "invalid field"
    assert reason(proposed(source, "I live in Oslo", valid_from=AT, valid_to=AT), source) == "invalid period"
