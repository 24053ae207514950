"""Chunks are neither empty nor too long, and join to the text, byte for byte."""

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemic.retain.split import split
from mnemic.types.memory import CONTENT_MAX_CHARACTERS

# Whatever PostgreSQL can store: no lone surrogates, no NUL.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=400)
# Much white space, ends of sentences and characters of several code points.
PROSE = st.lists(
    st.sampled_from(
        ["word", "Ende.", "?!", "\n", "\n\n", "\r\n", " ", "\t", "e\u0301", "👩🏽‍🚀", "🏽", "\u200d", "。"]
    ),
    max_size=200,
).map("".join)


@given(text=TEXT | PROSE, limit=st.integers(1, 60))
@example(text="\u0301" * 300, limit=64)
@example(text="a" + "\u200d" * 200, limit=3)
@settings(max_examples=400)
def test_the_chunks_of_any_text_join_to_it(text: str, limit: int) -> None:
    chunks = list(split(text, limit))
    assert "".join(chunks) == text
    assert all(1 <= len(chunk) <= limit for chunk in chunks)


@given(seed=PROSE.filter(bool), extra=TEXT)
@settings(max_examples=30)
def test_the_chunks_of_a_long_text_join_to_it(seed: str, extra: str) -> None:
    text = seed * (1 + 3 * CONTENT_MAX_CHARACTERS // len(seed)) + extra
    chunks = list(split(text))
    assert "".join(chunks).encode() == text.encode()
    assert all(1 <= len(chunk) <= CONTENT_MAX_CHARACTERS for chunk in chunks)
    assert all(len(chunk) >= CONTENT_MAX_CHARACTERS // 2 - 64 for chunk in chunks[:-1])


def test_a_short_text_is_one_chunk_and_an_empty_one_none() -> None:
    assert list(split("short")) == ["short"]
    assert list(split("x" * CONTENT_MAX_CHARACTERS)) == ["x" * CONTENT_MAX_CHARACTERS]
    assert list(split("")) == []


@pytest.mark.parametrize(
    ("text", "limit", "first"),
    [
        ("One two. Three four.\n\nFive six. Seven eight", 40, "One two. Three four.\n\n"),
        ("One two three. Four five six seven", 24, "One two three. "),
        ('He said: "One two." Three four five', 24, 'He said: "One two." '),
        ("One two three four five six seven", 20, "One two three four "),
        ("一二三四五。六七八九十", 8, "一二三四五。六七"),
        ("abcdefghijklmnop", 10, "abcdefghij"),
    ],
)
def test_a_chunk_ends_at_the_best_boundary_that_fits(text: str, limit: int, first: str) -> None:
    assert next(split(text, limit)) == first


@pytest.mark.parametrize("whole", ["e\u0301", "👩🏽‍🚀", "👍🏿", "☀\ufe0f"])
def test_no_character_is_split(whole: str) -> None:
    for limit in range(2 * len(whole), 3 * len(whole)):
        chunks = list(split(whole * 40, limit))
        assert "".join(chunks) == whole * 40
        assert all(chunk == whole * (len(chunk) // len(whole)) for chunk in chunks), limit
        assert not any(unicodedata.combining(chunk[0]) for chunk in chunks)
