"""Which sources the rules read, and how what they find is called."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from mnemic.extraction.protocol import SourceText
from mnemic.extraction.rules import propose

AT = datetime(2026, 3, 1, tzinfo=UTC)


def statements(
    text: str, role: str | None = None, name: str | None = None, *, is_document: bool = False
) -> list[str]:
    position = None if role is None and name is None else 0
    source = SourceText(uuid4(), text, role, name, AT, position, is_document=is_document)
    return [each.statement for each in propose(source)]


def test_only_speakers_who_may_testify_are_read(subtests: pytest.Subtests) -> None:
    text = "I live in Oslo."
    for role, name, expected in (
        ("user", None, ["The user lives in Oslo."]),
        ("user", "Ana", ["Ana lives in Oslo."]),
        (None, "Ana", ["Ana lives in Oslo."]),
        (None, None, ["The user lives in Oslo."]),
        ("assistant", None, []),
        ("assistant", "Ana", []),
        ("system", None, []),
        ("tool", None, []),
        ("somebody", None, []),
        (None, "assistant", []),
    ):
        with subtests.test(f"{role} {name}"):
            assert statements(text, role, name) == expected


def test_documents_are_read_without_their_i() -> None:
    text = "I live in Oslo.\nAlice works at Acme."
    assert statements(text, is_document=True) == ["Alice works at Acme."]


def test_turns_say_nothing_about_other_people_by_name() -> None:
    assert statements("Alice works at Acme.", "user") == []


def test_a_statement_knows_since_when_it_is_true() -> None:
    (proposal,) = propose(SourceText(uuid4(), "I moved to Oslo in 2019.", "user", None, AT, 0))
    assert proposal.valid_from == datetime(2019, 1, 1, tzinfo=UTC)
    (proposal,) = propose(SourceText(uuid4(), "I live in Oslo.", "user", None, AT, 0))
    assert proposal.valid_from is None


def test_recalled_text_and_quoted_replies_yield_nothing() -> None:
    entry = "[2026-02-01] The user: I live in Oslo.\n  I work at Acme."
    assert statements(entry, "user") == []
    assert statements(f"Here is what you told me:\n\n{entry}\n\nIs it right?", "user") == []
    assert statements("> I live in Oslo.\nThat is wrong.", "user") == []
