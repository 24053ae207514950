"""The models that a memory was told to use: an embedder always, a language model and a reranker if wanted."""

from functools import cached_property

from mnemic.config import Settings
from mnemic.models.embedding import EmbedderSpec, TextEmbedder, open_embedder
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

    @property
    def embedder(self) -> TextEmbedder:
        """What turns text into vectors."""
        if self._embedder is None:
            self._embedder = open_embedder(self._embedder_spec)
        return self._embedder

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
        if self._embedder is not None:
            await self._embedder.aclose()
