"""The models that a memory was told to use: an embedder always, a language model and a reranker if wanted.

Beside them stand the embedders of tenants whose vectors another model made, or is making: they are opened by
the name that those vectors are stored by.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from mnemic.config import Settings
from mnemic.errors import EmbeddingError, MnemicError
from mnemic.models.embedding import EmbedderSpec, TextEmbedder, open_embedder
from mnemic.models.engine import FloatArray, InputType
from mnemic.models.language import LanguageModel, LanguageModelSpec, open_language_model
from mnemic.models.reranking import Reranker, RerankerSpec, open_reranker


class Models:
    """Each is loaded when it is first needed. What is not given comes from the settings."""

    def __init__(
        self,
        settings: Settings,
        embedder: EmbedderSpec | None = None,
        llm: LanguageModelSpec | None = None,
        reranker: RerankerSpec | None = None,
    ) -> None:
        self._llm_timeout_s = settings.llm_timeout_s
        self._llm_spec: LanguageModelSpec | None = llm if llm is not None else settings.llm
        self._reranker_spec: RerankerSpec | None = reranker if reranker is not None else settings.reranker
        self._embedder_spec: EmbedderSpec = embedder if embedder is not None else settings.embedder
        self._embedder: TextEmbedder | None = None
        self._others: dict[str, TextEmbedder] = {}

    @property
    def embedder(self) -> TextEmbedder:
        """What turns text into vectors."""
        if self._embedder is None:
            self._embedder = open_embedder(self._embedder_spec)
        return self._embedder

    def embedder_named(self, name: str) -> TextEmbedder:
        """The embedder whose vectors are stored by this name; one that cannot be opened fails when used."""
        if name == self.embedder.name:
            return self.embedder
        if name not in self._others:
            self._others[name] = _open_named(name)
        return self._others[name]

    @cached_property
    def language_model(self) -> LanguageModel | None:
        """The LLM that was configured, if any."""
        return open_language_model(self._llm_spec)

    @cached_property
    def reranker(self) -> Reranker | None:
        """Who has the last word on the order of hits, if anybody."""
        return open_reranker(self._reranker_spec, self.language_model, timeout_s=self._llm_timeout_s)

    def check(self) -> None:
        """Load all, so that a model that cannot work is known before anything is started."""
        _ = self.embedder, self.language_model, self.reranker

    async def aclose(self) -> None:
        """Let go of what is loaded."""
        for embedder in self._others.values():
            await embedder.aclose()
        if self._embedder is not None:
            await self._embedder.aclose()


@dataclass(frozen=True)
class _Missing:
    """Stands for a model that cannot be had here, and says so to whoever needs it."""

    name: str
    reason: str
    dimensions: None = None

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        raise EmbeddingError(
            f"The vectors here are of the model {self.name}, which cannot be opened ({self.reason}). "
            "Configure it, or have everything embedded anew by the configured one: `mnemic reembed`."
        )

    async def aclose(self) -> None:
        """Nothing to give back."""


def _open_named(name: str) -> TextEmbedder:
    try:
        embedder = open_embedder(name)
    except MnemicError as error:
        return TextEmbedder(_Missing(name, str(error)), owned=False)
    if embedder.name != name:
        return TextEmbedder(_Missing(name, f"that name opens {embedder.name}"), owned=False)
    return embedder
