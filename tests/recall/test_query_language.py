"""Whether a query is in another language than the memories that it found."""

from collections.abc import Sequence

import pytest

from mnemic.recall.query_language import is_in_another_language

ENGLISH = ("The house was sold in May, and they have moved to Leeds.", "What is it?")
GERMAN = ("Das Haus wurde im Mai verkauft, und sie sind nach Köln gezogen.",)
CHINESE = ("房子在五月卖掉了。",)
UNKNOWN = ("Leeds 1998",)


@pytest.mark.parametrize(
    ("query", "texts", "expected"),
    [
        ("Wann wurde das Haus verkauft?", ENGLISH, True),
        ("Wann wurde das Haus verkauft?", GERMAN, False),
        ("Wann wurde das Haus verkauft?", (*ENGLISH, *GERMAN), False),
        ("Wann wurde das Haus verkauft?", UNKNOWN, False),
        ("Wann wurde das Haus verkauft?", (), False),
        ("Hauskauf Leeds", ENGLISH, False),
        ("When was the house sold?", GERMAN, False),
        ("房子什么时候卖的？", ENGLISH, True),
        ("房子什么时候卖的？", CHINESE, False),
        ("房子什么时候卖的？", (), False),
        ("Когда продали дом?", ENGLISH, True),
        ("1998?", ENGLISH, False),
    ],
)
def test_only_a_known_other_language_counts(query: str, texts: Sequence[str], expected: bool) -> None:
    assert is_in_another_language(query, lambda: texts) is expected


def test_the_memories_of_an_english_query_are_not_read() -> None:
    def read() -> Sequence[str]:
        raise AssertionError

    assert not is_in_another_language("Where is the key of the shed?", read)
