"""Embedding engines that cost next to nothing, so that what is measured is the writing."""

from collections.abc import Sequence

import numpy as np

from mnemic.models.engine import FloatArray, InputType

DIMENSIONS = 384


def random_vectors(count: int, *, seed: int) -> FloatArray:
    """Vectors in all directions, none of length one: scaling them is part of what is measured."""
    return np.random.default_rng(seed).standard_normal((count, DIMENSIONS), dtype=np.float32)


class ReadyVectors:
    """Looks up vectors that were computed before."""

    name = "bench:ready"
    dimensions = DIMENSIONS

    def __init__(self, texts: Sequence[str], vectors: FloatArray) -> None:
        self._places = {text: place for place, text in enumerate(texts)}
        self._vectors = vectors

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        """The vector of each text."""
        found: FloatArray = self._vectors[[self._places[text] for text in texts]]
        return found

    async def aclose(self) -> None:
        """There is nothing to give back."""


class MadeUpVectors:
    """Makes vectors up on the fly, for more texts than one wants to keep in memory."""

    name = "bench:ready"
    dimensions = DIMENSIONS

    def __init__(self, *, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        """Any vector for each text."""
        return self._random.standard_normal((len(texts), DIMENSIONS), dtype=np.float32)

    async def aclose(self) -> None:
        """There is nothing to give back."""
