"""Normalization in pieces gives what normalization of the whole gives."""

import time
import unicodedata
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.types.unicode_forms import Form, normalize

# Letters that combine with what precedes them: accents, vowel signs, Jamo, kana with voice marks.
PARTS = st.sampled_from(
    ["a", "é", "e\u0301", "\u0327", "가", "\u1100\u1161\u11a8", "か\u3099", "\u09c7\u09be", "ﬁ", "字", " "]
)


@given(st.lists(st.one_of(PARTS, st.characters(exclude_categories=["Cs"])), min_size=20).map("".join))
def test_pieces_give_what_the_whole_gives(text: str) -> None:
    for form in get_args(Form):
        assert normalize(form, text * 12) == unicodedata.normalize(form, text * 12)


def test_a_letter_with_many_accents_takes_no_longer() -> None:
    text = "a" + "\u0301\u0327" * 100_000
    began_s = time.thread_time()
    assert len(normalize("NFD", text)) == len(text)
    assert time.thread_time() - began_s < 5


@pytest.mark.parametrize("text", ["", "plain", "a\u0301" * 5_000])
def test_ordinary_texts_are_normalized(text: str) -> None:
    assert normalize("NFC", text) == unicodedata.normalize("NFC", text)
