"""A deterministic stand-in for an embedding model: no download, no training, 20,000 texts a second and more.

The features of a text are its lower-case words and their first letters. Each feature has a fixed random
direction (bits of its hash); the vector is their sum, scaled to length one. Texts that share words are
near, "moved" is near "moves", unrelated texts are about orthogonal. The same in every process and on every
machine.
"""

import asyncio
import hashlib
import re
from collections.abc import Iterable, Sequence

import numpy as np

from mnemic.errors import EmbeddingError
from mnemic.models.engine import FloatArray, InputType

DEFAULT_DIMENSIONS = 64
MAX_DIMENSIONS = 4_000
"""The limit of a `halfvec` index."""

MAX_BLOCK_TEXTS = 1_024
"""Texts embedded at a time; bounds the memory for their features."""

STEM_CHARACTERS = 4
"""The number of first letters that are a feature of a word."""

NAME_PREFIX = "test:hash-"

_WORD = re.compile(r"\w+")


class HashedWords:
    """The test engine. While `failing` is set, every call fails."""

    def __init__(self, dimensions: int = DEFAULT_DIMENSIONS, *, failing: bool = False) -> None:
        if not 1 <= dimensions <= MAX_DIMENSIONS:
            raise ValueError(f"dimensions must be between 1 and {MAX_DIMENSIONS}, not {dimensions}")
        self.dimensions = dimensions
        self.failing = failing

    @property
    def name(self) -> str:
        return f"{NAME_PREFIX}{self.dimensions}"

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> FloatArray:
        """Vectors of length one, (len(texts), dimensions)."""
        if self.failing:
            raise EmbeddingError("The test model is set to fail.")
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), MAX_BLOCK_TEXTS):
            end = start + MAX_BLOCK_TEXTS
            vectors[start:end] = await asyncio.to_thread(_embed_block, texts[start:end], self.dimensions)
        return vectors

    async def aclose(self) -> None:
        """Does nothing."""


def dimensions_named(name: str) -> int | None:
    """Dimensions of the test model of this name; None for other names."""
    number = name.removeprefix(NAME_PREFIX)
    if number == name or not (
        number.isascii() and number.isdigit() and len(number) <= len(str(MAX_DIMENSIONS))
    ):
        return None
    return int(number) if 1 <= int(number) <= MAX_DIMENSIONS else None


def _embed_block(texts: Sequence[str], dimensions: int) -> FloatArray:
    """Number the features of all texts, hash each once, then add up the directions text by text."""
    numbers: dict[str, int] = {}
    found: list[int] = []
    starts: list[int] = []
    for text in texts:
        starts.append(len(found))
        found.extend(numbers.setdefault(feature, len(numbers)) for feature in _features(text))
    sums = np.add.reduceat(_directions(numbers, dimensions)[found], starts, axis=0)
    # Sums of +1 and -1 can be the zero vector; adding a quarter to one number prevents that.
    sums[:, 0] += 0.25
    vectors: FloatArray = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return vectors


def _features(text: str) -> list[str]:
    """Words and their stems; a text without words is one feature, so that no vector is zero."""
    words = _WORD.findall(text.lower())
    stems = [f"{word[:STEM_CHARACTERS]}*" for word in words]
    return words + stems or [text]


def _directions(features: Iterable[str], dimensions: int) -> FloatArray:
    """One row of +1 and -1 for each feature, from the bits of its hash (never `hash()`: that is salted)."""
    size = (dimensions + 7) // 8
    digests = b"".join(
        hashlib.shake_128(feature.encode("utf-8", "surrogatepass")).digest(size) for feature in features
    )
    bits = np.unpackbits(np.frombuffer(digests, np.uint8).reshape(-1, size), axis=1)[:, :dimensions]
    return bits.astype(np.float32) * 2 - 1
