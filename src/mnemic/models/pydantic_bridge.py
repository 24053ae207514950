"""Both ways between Mnemic's embedding engines and pydantic-ai.

Out: `LocalEmbeddingModel` and `HashEmbeddingModel` are embedding models for pydantic-ai, so that
``Embedder(LocalEmbeddingModel())`` works in any program. In: `ProviderEngine` lets Mnemic use whatever
pydantic-ai can reach, by ``"provider:model"`` or as an object.

Importing this module imports pydantic-ai (0.8 s), so `mnemic.models.embedding` does it only when asked.
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
from mnemic.models.wordpiece import MAX_TEXT_CHARACTERS, encode

MAX_REQUEST_TEXTS = 96
"""Texts in one request: the smallest limit among the providers (Cohere's; Google takes 100)."""

MAX_REQUESTS = 4
"""Requests of one embedder that are under way at the same time; more would run into rate limits."""

REQUEST_TIMEOUT_S = 60.0
"""Longest wait for one request, retries of the provider's client included."""


class EngineEmbeddingModel(EmbeddingModel):
    """One of Mnemic's engines as a model of pydantic-ai; `engine.embed` gives the same as a float32 array."""

    def __init__(self, engine: EmbeddingEngine, *, settings: EmbeddingSettings | None = None) -> None:
        super().__init__(settings=settings)
        self.engine = engine

    @property
    def system(self) -> str:
        """What stands before the colon in the engine's name."""
        return self.engine.name.partition(":")[0]

    @property
    def model_name(self) -> str:
        """What stands behind the colon in the engine's name."""
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
        """Tokens that reach the vector, the two at the ends included."""
        return MAX_TOKENS

    async def count_tokens(self, text: str) -> int:
        """Tokens of the first 65,536 characters, the two at the ends included."""
        return len(await asyncio.to_thread(encode, text, MAX_TEXT_CHARACTERS + 2))


class HashEmbeddingModel(EngineEmbeddingModel):
    """The deterministic test model, see `mnemic.models.testing`."""

    def __init__(
        self, dimensions: int = DEFAULT_DIMENSIONS, *, settings: EmbeddingSettings | None = None
    ) -> None:
        super().__init__(HashedWords(dimensions), settings=settings)


class ProviderEngine:
    """Whatever stands behind an `Embedder`, as an engine. One event loop may use it."""

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
        """Nothing: the client belongs to the provider, which others may share."""

    async def _request(self, texts: Sequence[str], input_type: InputType) -> FloatArray:
        async with self._requests:
            try:
                async with asyncio.timeout(REQUEST_TIMEOUT_S):
                    result = await self._embedder.embed(texts, input_type=input_type)
            except TimeoutError as error:
                raise EmbeddingError(f"{self.name} gave no answer within {REQUEST_TIMEOUT_S:g} s.") from error
        if len(result.embeddings) != len(texts):
            raise EmbeddingError(f"{self.name} gave {len(result.embeddings)} vectors for {len(texts)} texts.")
        return np.asarray(result.embeddings, np.float32)


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
    """Find the provider's package and key now, so that what is missing is said on opening."""
    try:
        return infer_embedding_model(model)
    except ImportError as error:
        raise ConfigurationError(f"The embedder {model!r} needs a package: {error}") from error
    except Exception as error:
        # Each provider's client refuses to be made in its own way. What pydantic-ai says about a key that
        # is missing names the variable; the hint behind it, to its own test model, would mislead here.
        reason = str(error).partition(" To try Pydantic AI")[0]
        raise ConfigurationError(f"The embedder {model!r} cannot be used: {reason}") from error


def _identity(embedder: Embedder, model: EmbeddingModel) -> str:
    """``provider:model``, and ``@n`` behind it when settings shorten the vectors to n dimensions."""
    # An `Embedder` keeps its settings to itself, and they are half of what its vectors are.
    settings = merge_embedding_settings(model.settings, getattr(embedder, "_settings", None)) or {}
    shortened = f"@{settings['dimensions']}" if settings.get("dimensions") else ""
    return f"{model.system}:{model.model_name}{shortened}"
