"""The shipped test model: deterministic, fast, similar vectors for shared words."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import EmbeddingError
from mnemic.models.embedding import open_embedder
from mnemic.models.testing import MAX_BLOCK_TEXTS, HashedWords, _embed_block

SUM_IN_A_NEW_PROCESS = """
import asyncio
from mnemic.models.testing import HashedWords
vectors = asyncio.run(HashedWords().embed(["Alice moved to Berlin.", "Grüße, \\U0001f389"]))
print(vectors.tobytes().hex())
"""


def test_vectors_are_the_same_in_every_process() -> None:
    answers = {
        subprocess.run(
            [sys.executable, "-c", SUM_IN_A_NEW_PROCESS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1


async def test_texts_that_share_words_are_near() -> None:
    texts = ["Alice moved to Berlin", "Where did Alice move?", "Invoices were paid on Monday"]
    vectors = await HashedWords().embed(texts)
    assert vectors[0] @ vectors[1] > 0.3 > abs(vectors[0] @ vectors[2])


async def test_case_and_order_of_words_do_not_change_the_vector() -> None:
    one, other = await HashedWords().embed(["Alice moved", "moved, ALICE!"])
    np.testing.assert_allclose(one, other, atol=1e-6)


@given(
    texts=st.lists(st.text(st.characters(codec=None, categories=None)), min_size=1, max_size=20),
    dimensions=st.integers(1, 100),
)
def test_any_text_has_a_vector_of_length_one(texts: list[str], dimensions: int) -> None:
    vectors = _embed_block(texts, dimensions)
    assert vectors.shape == (len(texts), dimensions)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


async def test_blocks_do_not_change_the_vectors() -> None:
    texts = [f"Fact {number}" for number in range(MAX_BLOCK_TEXTS + 5)]
    vectors = await HashedWords().embed(texts)
    np.testing.assert_array_equal(vectors[-1], (await HashedWords().embed(texts[-1:]))[0])


async def test_every_call_fails_while_failing_is_set() -> None:
    engine = HashedWords(failing=True)
    embedder = open_embedder(engine)
    with pytest.raises(EmbeddingError, match="set to fail"):
        await embedder.embed_documents(["anything"])
    engine.failing = False
    assert (await embedder.embed_documents(["anything"])).shape == (1, 64)


def test_each_number_of_dimensions_is_a_separate_model() -> None:
    assert HashedWords(64).name != HashedWords(65).name


@pytest.mark.parametrize("dimensions", [0, -1, 4_001])
def test_impossible_dimensions_are_refused(dimensions: int) -> None:
    with pytest.raises(ValueError, match="dimensions must be"):
        HashedWords(dimensions)
