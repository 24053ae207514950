"""Embed text with any model.

`open_embedder` takes the configured value and returns a `TextEmbedder`, the interface for the rest of
Mnemic. It checks every result of a model (as many vectors as texts, the same number of dimensions as before,
finite numbers, no zero vector), scales the vectors to length one, limits the time of each call, and
translates the errors of all libraries to `EmbeddingError` (`mnemic.models.model_calls`).

A server embeds many and long texts in one process for all tenants. There, tenants take turns, a few texts at
a time (`TextEmbedder.in_turns`), and only the model's own time counts against its time limit: a tenant that
sends much delays the others by one turn, and makes no model look broken.

All engines are also embedding models for pydantic-ai (`mnemic.models.pydantic_bridge`), and providers are
called only through its `Embedder`. But importing pydantic-ai takes 0.8 s, longer than opening a database, so
``"local"`` and ``"test"`` use their engines directly and never import it.
"""

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from copy import copy
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np

from mnemic.errors import (
    ConfigurationError,
    EmbedderBusyError,
    EmbeddingError,
    TooManyRequestsError,
    install_extra,
)
from mnemic.models.embedding_process import parts_of
from mnemic.models.engine import EmbeddingEngine, FloatArray, InputType
from mnemic.models.local import MiniLM, needs_process
from mnemic.models.model_calls import ModelCalls, UnusableResult
from mnemic.models.multilingual import MultilingualEncoder
from mnemic.models.testing import HashedWords, dimensions_named
from mnemic.models.vector_check import DIMENSIONS_MAX, as_vectors

if TYPE_CHECKING:
    from pydantic_ai.embeddings import Embedder, EmbeddingModel

EmbedderSpec: TypeAlias = Union[str, EmbeddingEngine, "Embedder", "EmbeddingModel"]
Turn: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]
"""Waits for a turn at the process that embeds, and has it during the block."""

NAME_MAX_CHARACTERS = 256
"""The database has the same limit (`mnemic.vector_models`)."""

TEXTS_PER_TIMEOUT = 64
"""A call with more texts may take longer, in proportion."""


@dataclass(frozen=True)
class EmbeddingTimeouts:
    """Longest wait for an answer: for a query, and for each `TEXTS_PER_TIMEOUT` texts of documents."""

    query_s: float = 10.0
    documents_s: float = 30.0


def open_embedder(
    spec: EmbedderSpec,
    timeouts: EmbeddingTimeouts | None = None,
    *,
    process_environment: Mapping[str, str] | None = None,
) -> "TextEmbedder":
    """Make the embedder that `spec` names; no model is loaded and no provider called yet.

    ``"local"`` is the MiniLM that comes with Mnemic, ``"multilingual"`` the model of that extra,
    ``"test"`` a deterministic one for tests, and
    ``"provider:model"`` any that pydantic-ai knows; the name under which an embedder's vectors are stored is
    accepted too. An `Embedder` or `EmbeddingModel` of pydantic-ai is used as it is, and so is an engine of
    Mnemic. With an environment for it, a process of its own embeds many and long texts by the local model.
    Raises ConfigurationError that names a missing package or key.
    """
    # The caller closes an object, which it may share with other code.
    engine = _open_engine(spec, process_environment)
    return TextEmbedder(engine, owned=isinstance(spec, str), timeouts=timeouts)


class TextEmbedder:
    """An embedding model whose results are checked. `name` is the one under which its vectors are stored.

    The name identifies the vectors, such as ``local:all-MiniLM-L6-v2``; each model has its own.
    """

    def __init__(
        self, engine: EmbeddingEngine, *, owned: bool, timeouts: EmbeddingTimeouts | None = None
    ) -> None:
        self._engine = engine
        self._owned = owned
        self._timeouts = timeouts or EmbeddingTimeouts()
        # Read once: the vectors of one embedder must not be stored under several names.
        self.name = _checked_name(engine)
        self._dimensions = _checked_dimensions(engine)
        self._calls = ModelCalls(f"embedding model {self.name}", EmbeddingError)
        # A process that is starved must not stop the queries that need no process.
        self._process_calls = ModelCalls(f"process of the embedding model {self.name}", EmbeddingError)
        self._turn: Turn | None = None

    def in_turns(self, turn: Turn) -> "TextEmbedder":
        """The same embedder for callers that take turns at its process; itself if it has none."""
        if not (isinstance(self._engine, MiniLM) and self._engine.has_process):
            return self
        taking_turns = copy(self)
        taking_turns._turn = turn
        return taking_turns

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors; None before the first result of a provider."""
        return self._dimensions

    async def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """One row of length one per text, in order. Raises EmbeddingError if any text fails."""
        if not texts:
            return np.empty((0, self._dimensions or 0), np.float32)
        timeout_s = self._timeouts.documents_s * max(1.0, len(texts) / TEXTS_PER_TIMEOUT)
        return await self._embed(texts, "document", timeout_s)

    async def embed_query(self, text: str) -> FloatArray:
        """The vector to search with, of length one. Raises EmbeddingError."""
        vector: FloatArray = (await self._embed([text], "query", self._timeouts.query_s))[0]
        return vector

    async def aclose(self) -> None:
        """Close the engine, unless it was passed in as an object."""
        if self._owned:
            await self._engine.aclose()

    async def _embed(self, texts: Sequence[str], input_type: InputType, timeout_s: float) -> FloatArray:
        if self._turn is not None and needs_process(texts):
            result = await self._embed_in_turns(self._turn, texts, input_type, timeout_s)
        else:
            result = await self._calls.run(
                lambda: self._engine.embed(texts, input_type=input_type), timeout_s=timeout_s
            )
        try:
            vectors = as_vectors(result, len(texts))
        except UnusableResult as problem:
            raise self._calls.unusable(str(problem)) from problem
        if vectors.shape[1] != (self._dimensions or vectors.shape[1]):
            raise self._calls.unusable(
                f"vectors of {vectors.shape[1]} dimensions, not {self._dimensions} as before"
            )
        return self._scaled(vectors)

    async def _embed_in_turns(
        self, turn: Turn, texts: Sequence[str], input_type: InputType, timeout_s: float
    ) -> FloatArray:
        """Embed a part in each turn. The turns together and each part have the time limit."""
        deadline_s = asyncio.get_running_loop().time() + timeout_s
        found = []
        for part in parts_of(texts):
            async with AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout_at(deadline_s):
                        await stack.enter_async_context(turn())
                except (TimeoutError, TooManyRequestsError) as error:
                    raise EmbedderBusyError(
                        f"The embedding model {self.name} is busy with other texts; these waited for "
                        f"{timeout_s:g} s, or too many wait."
                    ) from error
                embed = partial(self._engine.embed, part, input_type=input_type)
                found.append(await self._process_calls.run(embed, timeout_s=timeout_s))
        return np.concatenate(found)

    def _scaled(self, vectors: FloatArray) -> FloatArray:
        """Scale each to length one, so that a dot product is a cosine and numbers fit into a `halfvec`."""
        # In double precision, in which no square of a float32 overflows or underflows.
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64, casting="unsafe")
        if not np.isfinite(squares).all():
            raise self._calls.unusable("a vector that holds NaN or infinity")
        if not squares.all():
            raise self._calls.unusable("a vector of zeros, which has no direction to compare")
        self._dimensions = vectors.shape[1]
        scaled: FloatArray = (vectors / np.sqrt(squares)[:, None]).astype(np.float32)
        return scaled


def _checked_name(engine: EmbeddingEngine) -> str:
    name: object = engine.name
    if not isinstance(name, str) or not 0 < len(name) <= NAME_MAX_CHARACTERS or not name.isprintable():
        raise ConfigurationError(
            f"The embedder of type {type(engine).__name__} has no usable name: `name` must be a string of "
            f"1 to {NAME_MAX_CHARACTERS} printable characters."
        )
    return name


def _checked_dimensions(engine: EmbeddingEngine) -> int | None:
    dimensions: object = engine.dimensions
    if dimensions is None:
        return None
    if type(dimensions) is not int or not 0 < dimensions <= DIMENSIONS_MAX:
        raise ConfigurationError(
            f"The embedder {engine.name}: `dimensions` must be None or a number from 1 to {DIMENSIONS_MAX}."
        )
    return dimensions


def _open_engine(spec: EmbedderSpec, process_environment: Mapping[str, str] | None) -> EmbeddingEngine:
    if spec in ("local", MiniLM.name):
        return MiniLM(process_environment=process_environment)
    if spec in ("multilingual", MultilingualEncoder.name):
        return MultilingualEncoder()
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
            f"{spec!r} is not an embedder. Use 'local', 'multilingual', 'test', 'provider:model' such as "
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
            f"{install_extra('providers')}; the extra for OpenAI and the like is openai."
        ) from error
