"""Text to vectors, whichever model does it.

`open_embedder` reads what the user configured and gives back a `TextEmbedder`, the only thing that the rest
of Mnemic sees. It trusts no model: every answer is checked (as many vectors as texts, as many dimensions as
ever, finite numbers, not zero) and scaled to length one, and every failure, of whatever library, arrives as
`EmbeddingError`.

All of them are embedding models of pydantic-ai for those who want one (`mnemic.models.pydantic_bridge`), and
providers are reached through its `Embedder` only. But importing pydantic-ai takes 0.8 s, longer than opening
a database, so ``"local"`` and ``"test"`` drive the same engines directly and never load it.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np

from mnemic.errors import ConfigurationError, EmbeddingError, MnemicError
from mnemic.models.engine import EmbeddingEngine, FloatArray, InputType
from mnemic.models.local import MiniLM
from mnemic.models.testing import HashedWords, dimensions_named

if TYPE_CHECKING:
    from pydantic_ai.embeddings import Embedder, EmbeddingModel

EmbedderSpec: TypeAlias = Union[str, EmbeddingEngine, "Embedder", "EmbeddingModel"]


def open_embedder(spec: EmbedderSpec) -> "TextEmbedder":
    """Make the embedder that `spec` names; no model is loaded and no provider called yet.

    ``"local"`` is the MiniLM that comes with Mnemic, ``"test"`` a deterministic one for tests, and
    ``"provider:model"`` any that pydantic-ai knows; the name that an embedder's vectors are stored by means
    that embedder. An `Embedder` or `EmbeddingModel` of pydantic-ai is taken as it is, and so is an engine of
    Mnemic's own. Raises ConfigurationError when a package or a key is missing, and says which.
    """
    # An object may serve others as well: it is closed by whoever made it.
    return TextEmbedder(_open_engine(spec), owned=isinstance(spec, str))


class TextEmbedder:
    """An embedding model under the name that its vectors are stored by, with its answers checked."""

    def __init__(self, engine: EmbeddingEngine, *, owned: bool) -> None:
        self._engine = engine
        self._owned = owned
        self._dimensions = engine.dimensions

    @property
    def name(self) -> str:
        """Which vectors these are, such as ``local:all-MiniLM-L6-v2``; two models never share one."""
        return self._engine.name

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors; None until the first answer of a provider has shown it."""
        return self._dimensions

    async def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """One row of length one per text, in order. Raises EmbeddingError; there is no half an answer."""
        if not texts:
            return np.empty((0, self._dimensions or 0), np.float32)
        return await self._embed(texts, "document")

    async def embed_query(self, text: str) -> FloatArray:
        """The vector to search with, of length one. Raises EmbeddingError."""
        vector: FloatArray = (await self._embed([text], "query"))[0]
        return vector

    async def aclose(self) -> None:
        """Give the threads of the model back, unless it was handed in as an object."""
        if self._owned:
            await self._engine.aclose()

    async def _embed(self, texts: Sequence[str], input_type: InputType) -> FloatArray:
        try:
            vectors = await self._engine.embed(texts, input_type=input_type)
        except MnemicError:
            raise
        except Exception as error:
            # The one door to models of all makers, each with errors of its own: none may pass untranslated.
            message = f"The embedding model {self.name} failed: {type(error).__name__}: {error}"
            raise EmbeddingError(message) from error
        if problem := self._shape_problem(vectors, len(texts)):
            raise self._unusable(problem)
        return self._scaled(vectors)

    def _shape_problem(self, vectors: FloatArray, count: int) -> str | None:
        """Why these cannot be the vectors of `count` texts, if so."""
        if vectors.ndim != 2 or len(vectors) != count:
            return f"an array of shape {vectors.shape} for {count} texts"
        if vectors.shape[1] != (self._dimensions or vectors.shape[1]):
            return f"vectors of {vectors.shape[1]} dimensions where there were {self._dimensions} before"
        return None

    def _scaled(self, vectors: FloatArray) -> FloatArray:
        """Each to length one, so that a dot product is a cosine and no number is lost in a `halfvec`."""
        # In double precision, where no square of a float32 overflows or vanishes.
        squares = np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)
        if not np.isfinite(squares).all():
            raise self._unusable("a vector that holds NaN or infinity")
        if not squares.all():
            raise self._unusable("a vector of zeros, which has no direction to compare")
        self._dimensions = vectors.shape[1]
        scaled: FloatArray = (vectors / np.sqrt(squares)[:, None]).astype(np.float32)
        return scaled

    def _unusable(self, problem: str) -> EmbeddingError:
        return EmbeddingError(f"The embedding model {self.name} gave an unusable answer: {problem}.")


def _open_engine(spec: EmbedderSpec) -> EmbeddingEngine:
    if spec in ("local", MiniLM.name):
        return MiniLM()
    if spec == "test":
        return HashedWords()
    if isinstance(spec, str) and (dimensions := dimensions_named(spec)) is not None:
        return HashedWords(dimensions)
    if not isinstance(spec, str) and isinstance(spec, EmbeddingEngine):
        return spec
    # Whoever holds an object of pydantic-ai has imported it; for anything else it need not be loaded.
    possible = all(spec.partition(":")) if isinstance(spec, str) else "pydantic_ai" in sys.modules
    engine: EmbeddingEngine | None = _bridge().open_engine(spec) if possible else None
    if engine is None:
        raise ConfigurationError(
            f"{spec!r} is not an embedder. Use 'local', 'test', 'provider:model' such as "
            "'openai:text-embedding-3-small', or an Embedder or EmbeddingModel of pydantic-ai."
        )
    return engine


def _bridge() -> ModuleType:
    """Imported when first needed: pydantic-ai takes 0.8 s to load, and most users need none of it."""
    try:
        return import_module("mnemic.models.pydantic_bridge")
    except ImportError as error:
        raise ConfigurationError(
            f"Embedding through a provider needs pydantic-ai, which cannot be imported ({error}). "
            'Install it: pip install "mnemic[providers]", or "mnemic[openai]" for OpenAI and the like.'
        ) from error
