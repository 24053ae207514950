"""Embedding engines that take almost no time, so that benchmarks measure writing only."""

from collections.abc import Sequence

import numpy as np

from mnemic.models.engine import FloatArray, InputType

DIMENSIONS = 384


def random_vectors(count: int, *, seed: int) -> FloatArray:
    """Random vectors, not normalised: normalising them is part of the measurement."""
    return np.random.default_rng(seed).standard_normal((count, DIMENSIONS), dtype=np.float32)


class PrecomputedVectors:
    """Looks up precomputed vectors."""

    name = "bench:ready"
    dimensions = DIMENSIONS

    def __init__(self, texts: Sequence[str], vectors: FloatArray) -> None:
        self._positions = {text: position for position, text in enumerate(texts)}
        self._vectors = vectors

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        """The vector of each text."""
        found: FloatArray = self._vectors[[self._positions[text] for text in texts]]
        return found

    async def aclose(self) -> None:
        """Nothing to close."""


class RandomVectors:
    """Generates random vectors, for more texts than fit in memory."""

    name = "bench:ready"
    dimensions = DIMENSIONS

    def __init__(self, *, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        """A random vector for each text."""
        return self._random.standard_normal((len(texts), DIMENSIONS), dtype=np.float32)

    async def aclose(self) -> None:
        """Nothing to close."""
