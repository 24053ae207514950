"""Embed text with any model.

`open_embedder` takes the configured value and returns a `TextEmbedder`, the interface for the rest of
Mnemic. It checks every result of a model (as many vectors as texts, the same number of dimensions as before,
finite numbers, no zero vector), scales the vectors to length one, and translates the errors of all libraries
to `EmbeddingError`.

All engines are also embedding models for pydantic-ai (`mnemic.models.pydantic_bridge`), and providers are
called only through its `Embedder`. But importing pydantic-ai takes 0.8 s, longer than opening a database, so
``"local"`` and ``"test"`` use their engines directly and never import it.
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
    ``"provider:model"`` any that pydantic-ai knows; the name under which an embedder's vectors are stored is
    accepted too. An `Embedder` or `EmbeddingModel` of pydantic-ai is used as it is, and so is an engine of
    Mnemic. Raises ConfigurationError that names a missing package or key.
    """
    # The caller closes an object, which it may share with other code.
    return TextEmbedder(_open_engine(spec), owned=isinstance(spec, str))


class TextEmbedder:
    """An embedding model whose results are checked. `name` is the one under which its vectors are stored."""

    def __init__(self, engine: EmbeddingEngine, *, owned: bool) -> None:
        self._engine = engine
        self._owned = owned
        self._dimensions = engine.dimensions

    @property
    def name(self) -> str:
        """Identifies the vectors, such as ``local:all-MiniLM-L6-v2``; each model has its own name."""
        return self._engine.name

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors; None before the first result of a provider."""
        return self._dimensions

    async def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """One row of length one per text, in order. Raises EmbeddingError if any text fails."""
        if not texts:
            return np.empty((0, self._dimensions or 0), np.float32)
        return await self._embed(texts, "document")

    async def embed_query(self, text: str) -> FloatArray:
        """The vector to search with, of length one. Raises EmbeddingError."""
        vector: FloatArray = (await self._embed([text], "query"))[0]
        return vector

    async def aclose(self) -> None:
        """Close the engine, unless it was passed in as an object."""
        if self._owned:
            await self._engine.aclose()

    async def _embed(self, texts: Sequence[str], input_type: InputType) -> FloatArray:
        try:
            vectors = await self._engine.embed(texts, input_type=input_type)
        except MnemicError:
            raise
        except Exception as error:
            # Every provider library has its own exceptions; all are translated here.
            message = f"The embedding model {self.name} failed: {type(error).__name__}: {error}"
            raise EmbeddingError(message) from error
        if problem := self._shape_problem(vectors, len(texts)):
            raise self._unusable(problem)
        return self._scaled(vectors)

    def _shape_problem(self, vectors: FloatArray, count: int) -> str | None:
        """What is wrong with the shape of the vectors of `count` texts; None if it is right."""
        if vectors.ndim != 2 or len(vectors) != count:
            return f"an array of shape {vectors.shape} for {count} texts"
        if vectors.shape[1] != (self._dimensions or vectors.shape[1]):
            return f"vectors of {vectors.shape[1]} dimensions, not {self._dimensions} as before"
        return None

    def _scaled(self, vectors: FloatArray) -> FloatArray:
        """Scale each to length one, so that a dot product is a cosine and numbers fit into a `halfvec`."""
        # In double precision, in which no square of a float32 overflows or underflows.
        squares = np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)
        if not np.isfinite(squares).all():
            raise self._unusable("a vector that holds NaN or infinity")
        if not squares.all():
            raise self._unusable("a vector of zeros, which has no direction to compare")
        self._dimensions = vectors.shape[1]
        scaled: FloatArray = (vectors / np.sqrt(squares)[:, None]).astype(np.float32)
        return scaled

    def _unusable(self, problem: str) -> EmbeddingError:
        return EmbeddingError(f"The embedding model {self.name} returned an unusable result: {problem}.")


def _open_engine(spec: EmbedderSpec) -> EmbeddingEngine:
    if spec in ("local", MiniLM.name):
        return MiniLM()
    if spec == "test":
        return HashedWords()
    if isinstance(spec, str) and (dimensions := dimensions_named(spec)) is not None:
        return HashedWords(dimensions)
    if not isinstance(spec, str) and isinstance(spec, EmbeddingEngine):
        return spec
    # An object of pydantic-ai exists only if pydantic-ai has been imported.
    possible = all(spec.partition(":")) if isinstance(spec, str) else "pydantic_ai" in sys.modules
    engine: EmbeddingEngine | None = _bridge().open_engine(spec) if possible else None
    if engine is None:
        raise ConfigurationError(
            f"{spec!r} is not an embedder. Use 'local', 'test', 'provider:model' such as "
            "'openai:text-embedding-3-small', or an Embedder or EmbeddingModel of pydantic-ai."
        )
    return engine


def _bridge() -> ModuleType:
    """Imported when first needed: pydantic-ai takes 0.8 s to import, and most users do not need it."""
    try:
        return import_module("mnemic.models.pydantic_bridge")
    except ImportError as error:
        raise ConfigurationError(
            f"Embedding through a provider needs pydantic-ai, which cannot be imported ({error}). "
            'Install it: pip install "mnemic[providers]", or "mnemic[openai]" for OpenAI and the like.'
        ) from error
