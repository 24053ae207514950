"""Token ids, compared with those of the `tokenizers` library.

``reference_tokens.json`` holds [text, ids] by `tokenizers` 0.23.3 with the tokenizer.json of
all-MiniLM-L6-v2, truncated to 256 tokens.
"""

import hashlib
import json
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.models.wordpiece import CLS_ID, MAX_TEXT_CHARACTERS, SEP_ID, UNKNOWN_ID, encode

REFERENCE: list[tuple[str, list[int]]] = json.loads(
    Path(__file__).with_name("reference_tokens.json").read_text("utf-8")
)
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
VOCABULARY_SIZE = 30_522


def test_the_vocabulary_is_that_of_bert_uncased() -> None:
    data = files("mnemic.models").joinpath("data/bert-uncased-vocab.txt").read_bytes()
    assert hashlib.sha256(data).hexdigest() == VOCABULARY_SHA256


@pytest.mark.parametrize(("text", "ids"), REFERENCE, ids=[ascii(text)[:40] for text, _ in REFERENCE])
def test_tokens_are_those_of_the_reference(text: str, ids: list[int]) -> None:
    assert encode(text, 256) == ids


def test_control_tokens_in_a_text_are_ordinary_words() -> None:
    inside = encode("[CLS] [SEP] [MASK] [PAD] [UNK]", 256)[1:-1]
    assert not {CLS_ID, SEP_ID, UNKNOWN_ID, 103, 0} & set(inside)


def test_lone_surrogates_are_dropped() -> None:
    assert encode("a\ud800b \udfff", 256) == encode("ab", 256)


# Surrogates included: `st.text()` alone leaves them out.
ANY_TEXT = st.text(st.characters(codec=None, categories=None))


@given(text=ANY_TEXT, max_tokens=st.integers(3, 40))
def test_any_text_gives_known_tokens_within_the_limit(text: str, max_tokens: int) -> None:
    ids = encode(text, max_tokens)
    assert ids[0] == CLS_ID
    assert ids[-1] == SEP_ID
    assert len(ids) <= max_tokens
    assert all(0 <= number < VOCABULARY_SIZE for number in ids)


@given(text=ANY_TEXT, max_tokens=st.integers(3, 40))
def test_a_limit_cuts_off_the_end_and_changes_nothing_else(text: str, max_tokens: int) -> None:
    whole = encode(text, MAX_TEXT_CHARACTERS)
    assert encode(text, max_tokens)[:-1] == whole[:-1][: max_tokens - 1]


def test_characters_beyond_the_limit_are_ignored() -> None:
    text = "word " * (MAX_TEXT_CHARACTERS // 5)
    assert encode(text + " more" * 10_000, 10**6) == encode(text, 10**6)
