"""Adapters between Mnemic's embedding engines and pydantic-ai, in both directions.

From Mnemic: `LocalEmbeddingModel` and `HashEmbeddingModel` are embedding models for pydantic-ai, so that
``Embedder(LocalEmbeddingModel())`` works in any program. To Mnemic: `ProviderEngine`
lets Mnemic use every provider of pydantic-ai, by ``"provider:model"`` or as an object.

Importing this module imports pydantic-ai (0.8 s), so `mnemic.models.embedding` does so only when needed.
"""

import asyncio
from collections.abc import Sequence

import numpy as np
from pydantic_ai.embeddings import (
    Embedder,
    EmbeddingModel,
    EmbeddingResult,
    EmbeddingSettings,
    infer_embedding_model,
    merge_embedding_settings,
)
from pydantic_ai.usage import RequestUsage

from mnemic.errors import ConfigurationError, EmbeddingError
from mnemic.models.engine import EmbeddingEngine, FloatArray, InputType
from mnemic.models.local import MAX_TOKENS, MiniLM
from mnemic.models.testing import DEFAULT_DIMENSIONS, HashedWords
from mnemic.models.vector_check import as_vectors
from mnemic.models.wordpiece import MAX_TEXT_CHARACTERS, encode

MAX_REQUEST_TEXTS = 96
"""Texts in one request: the smallest limit among the providers (Cohere's; Google takes 100)."""

MAX_REQUESTS = 4
"""Concurrent requests of one embedder; more would exceed rate limits."""

REQUEST_TIMEOUT_S = 60.0
"""Longest wait for one request, retries of the provider's client included."""


class EngineEmbeddingModel(EmbeddingModel):
    """One of Mnemic's engines as a model of pydantic-ai; `engine.embed` returns the same as an array."""

    def __init__(self, engine: EmbeddingEngine, *, settings: EmbeddingSettings | None = None) -> None:
        super().__init__(settings=settings)
        self.engine = engine

    @property
    def system(self) -> str:
        """The part of the engine's name before the colon."""
        return self.engine.name.partition(":")[0]

    @property
    def model_name(self) -> str:
        """The part of the engine's name after the colon."""
        return self.engine.name.partition(":")[2]

    async def embed(
        self, inputs: str | Sequence[str], *, input_type: InputType, settings: EmbeddingSettings | None = None
    ) -> EmbeddingResult:
        """Embed; settings have no effect, in particular inputs that are too long are always truncated."""
        texts, _ = self.prepare_embed(inputs, settings)
        vectors = await self.engine.embed(texts, input_type=input_type)
        return EmbeddingResult(
            embeddings=vectors.tolist(),
            inputs=texts,
            input_type=input_type,
            model_name=self.model_name,
            provider_name=self.system,
            usage=RequestUsage(),
        )


class LocalEmbeddingModel(EngineEmbeddingModel):
    """all-MiniLM-L6-v2 on this machine, see `mnemic.models.local`."""

    def __init__(self, *, settings: EmbeddingSettings | None = None) -> None:
        super().__init__(MiniLM(), settings=settings)

    async def max_input_tokens(self) -> int:
        """Tokens that are embedded, `[CLS]` and `[SEP]` included."""
        return MAX_TOKENS

    async def count_tokens(self, text: str) -> int:
        """Tokens of the first 65,536 characters, `[CLS]` and `[SEP]` included."""
        return len(await asyncio.to_thread(encode, text, MAX_TEXT_CHARACTERS + 2))


class HashEmbeddingModel(EngineEmbeddingModel):
    """The deterministic test model, see `mnemic.models.testing`."""

    def __init__(
        self, dimensions: int = DEFAULT_DIMENSIONS, *, settings: EmbeddingSettings | None = None
    ) -> None:
        super().__init__(HashedWords(dimensions), settings=settings)


class ProviderEngine:
    """An `Embedder` of pydantic-ai as an engine, for use in one event loop."""

    dimensions = None

    def __init__(self, embedder: Embedder, model: EmbeddingModel) -> None:
        self._embedder = embedder
        self.name = _identity(embedder, model)
        self._requests = asyncio.Semaphore(MAX_REQUESTS)

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        """All of `texts`, in requests of `MAX_REQUEST_TEXTS`; the first failure cancels the others."""
        starts = range(0, len(texts), MAX_REQUEST_TEXTS)
        parts = [texts[start : start + MAX_REQUEST_TEXTS] for start in starts]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._request(part, input_type)) for part in parts]
        except ExceptionGroup as failures:
            first = failures.exceptions[0]
            raise first from first.__cause__
        return np.concatenate([task.result() for task in tasks])

    async def aclose(self) -> None:
        """Does nothing: the provider's client may be shared with other code."""

    async def _request(self, texts: Sequence[str], input_type: InputType) -> FloatArray:
        async with self._requests:
            try:
                async with asyncio.timeout(REQUEST_TIMEOUT_S):
                    result = await self._embedder.embed(texts, input_type=input_type)
            except TimeoutError as error:
                raise EmbeddingError(f"{self.name} gave no answer within {REQUEST_TIMEOUT_S:g} s.") from error
        return as_vectors(result.embeddings, len(texts))


def open_engine(spec: object) -> EmbeddingEngine | None:
    """The engine for ``"provider:model"``, an `Embedder` or an `EmbeddingModel`; None for anything else."""
    if isinstance(spec, EngineEmbeddingModel):
        return spec.engine
    if isinstance(spec, Embedder):
        return ProviderEngine(spec, _infer(spec.model))
    if isinstance(spec, EmbeddingModel):
        return ProviderEngine(Embedder(spec), spec)
    if isinstance(spec, str):
        model = _infer(spec)
        return ProviderEngine(Embedder(model), model)
    return None


def _infer(model: EmbeddingModel | str) -> EmbeddingModel:
    """Look for the provider's package and key on opening, not at the first call."""
    try:
        return infer_embedding_model(model)
    except ImportError as error:
        raise ConfigurationError(f"The embedder {model!r} needs a package: {error}") from error
    except Exception as error:
        # Each provider's client raises its own exceptions. pydantic-ai's message about a missing key names
        # the variable; the advice after it, to use its test model, would mislead here.
        reason = str(error).partition(" To try Pydantic AI")[0]
        raise ConfigurationError(f"The embedder {model!r} cannot be used: {reason}") from error


def _identity(embedder: Embedder, model: EmbeddingModel) -> str:
    """``provider:model``, followed by ``@n`` if settings shorten the vectors to n dimensions."""
    # `Embedder` has no public attribute for its settings, which determine its vectors.
    settings = merge_embedding_settings(model.settings, getattr(embedder, "_settings", None)) or {}
    shortened = f"@{settings['dimensions']}" if settings.get("dimensions") else ""
    return f"{model.system}:{model.model_name}{shortened}"
