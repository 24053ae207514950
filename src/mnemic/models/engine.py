"""The interface of embedding engines."""

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float32]

InputType: TypeAlias = Literal["query", "document"]
"""Some models embed a question and the text that answers it differently."""


@runtime_checkable
class EmbeddingEngine(Protocol):
    """Turns texts into vectors; bounds its own batches, threads and requests."""

    @property
    def name(self) -> str:
        """Identifies the vectors, the same in every process; each model has its own name."""

    @property
    def dimensions(self) -> int | None:
        """Length of a vector; None if it is not known before the first result."""

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        """One row per text, in the order of `texts`. May raise any exception; the caller translates it."""

    async def aclose(self) -> None:
        """Release threads and connections. The engine cannot be used afterwards."""
