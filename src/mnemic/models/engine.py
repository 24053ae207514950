"""What every source of vectors has in common."""

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
        """Which vectors these are, the same in every process; two models never share a name."""

    @property
    def dimensions(self) -> int | None:
        """Length of a vector, or None until a first answer has shown it."""

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        """One row per text, in the order of `texts`. May raise anything: the caller translates."""

    async def aclose(self) -> None:
        """Give threads and connections back. The engine cannot be used afterwards."""
