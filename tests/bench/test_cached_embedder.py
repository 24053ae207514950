"""A cache that changes nothing but the time."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.cached_embedder import CachedEmbedder
from mnemic.models.engine import FloatArray, InputType
from mnemic.models.testing import HashedWords


class Counting(HashedWords):
    """The test model, remembering what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> FloatArray:
        """Remember and embed."""
        self.asked += texts
        return await super().embed(texts, input_type=input_type)


async def test_vectors_are_those_of_the_model_bit_by_bit(tmp_path: Path) -> None:
    texts = ["a kite", "a red kite", "a kite"]
    expected = await HashedWords().embed(texts, input_type="document")
    for _ in range(2):
        cached = CachedEmbedder(HashedWords(), tmp_path)
        np.testing.assert_array_equal(await cached.embed(texts, input_type="document"), expected)
        await cached.aclose()


async def test_the_model_is_asked_once_per_text_also_by_a_later_run(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    for engine in (first, second):
        cached = CachedEmbedder(engine, tmp_path)
        await cached.embed(["one", "two", "one"], input_type="document")
        await cached.embed(["two", "three"], input_type="document")
        await cached.aclose()
    assert first.asked == ["one", "two", "three"]
    assert second.asked == []


async def test_a_question_is_not_mistaken_for_a_text(tmp_path: Path) -> None:
    engine = Counting()
    cached = CachedEmbedder(engine, tmp_path)
    await cached.embed(["one"], input_type="document")
    await cached.embed(["one"], input_type="query")
    await cached.aclose()
    assert engine.asked == ["one", "one"]


def test_it_passes_for_the_model(tmp_path: Path) -> None:
    model = HashedWords()
    cached = CachedEmbedder(model, tmp_path)
    assert (cached.name, cached.dimensions) == (model.name, model.dimensions)
    cached._file.close()
