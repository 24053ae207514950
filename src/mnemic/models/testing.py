"""A deterministic stand-in for an embedding model: no download, no training, 20,000 texts a second and more.

A text is the bag of its lower-case words and of their first letters; each of those stands for a fixed random
direction (bits of its hash), and the vector is the sum of them, scaled to length one. Texts that share words
are near, "moved" is near "moves", all else is about orthogonal. The same in every process and on every
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
"""What a `halfvec` index can hold."""

MAX_BLOCK_TEXTS = 1_024
"""Texts embedded in one go; bounds the memory that their words take."""

STEM_CHARACTERS = 4
"""A word is also known by this many first letters."""

NAME_PREFIX = "test:hash-"

_WORD = re.compile(r"\w+")


class HashedWords:
    """The test engine. Set `failing` to make every call fail, and unset it to let the model recover."""

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
            raise EmbeddingError("The test model was told to fail.")
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), MAX_BLOCK_TEXTS):
            end = start + MAX_BLOCK_TEXTS
            vectors[start:end] = await asyncio.to_thread(_embed_block, texts[start:end], self.dimensions)
        return vectors

    async def aclose(self) -> None:
        """Nothing to give back."""


def dimensions_named(name: str) -> int | None:
    """How many dimensions the test model of this name has; None if it is no name of one."""
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
    # Sums of +1 and -1 can cancel out to the zero vector; with a quarter added to one of them they never do.
    sums[:, 0] += 0.25
    vectors: FloatArray = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return vectors


def _features(text: str) -> list[str]:
    """Words and their stems; a text without any is one feature as a whole, so that no vector is zero."""
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
