"""The models of a memory: an embedder, and optionally a language model and a reranker.

A tenant's vectors may be of another model than the configured one, or be changing to it. Such embedders are
opened by the name under which the vectors are stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from mnemic.config import Settings, loader_environment
from mnemic.errors import EmbeddingError, MnemicError
from mnemic.models.embedding import EmbedderSpec, EmbeddingTimeouts, TextEmbedder, open_embedder
from mnemic.models.engine import FloatArray, InputType
from mnemic.models.failure_report import report_failure
from mnemic.models.language import LanguageModel, LanguageModelSpec, open_language_model
from mnemic.models.reranking import LanguageModelReranker, Reranker, RerankerSpec, open_reranker
from mnemic.models.spending import SpendLedger
from mnemic.runtime.query_vectors import QueryVectors


class Models:
    """Models, each loaded when it is first needed. Arguments override the settings."""

    def __init__(
        self,
        settings: Settings,
        embedder: EmbedderSpec | None = None,
        llm: LanguageModelSpec | None = None,
        reranker: RerankerSpec | None = None,
        *,
        has_embedding_process: bool = False,
    ) -> None:
        """`has_embedding_process`: the local model embeds many and long texts in a process of its own."""
        self._process_environment = loader_environment() if has_embedding_process else None
        self._timeouts = EmbeddingTimeouts(settings.query_embedding_timeout_s, settings.embedding_timeout_s)
        self._llm_timeout_s = settings.llm_timeout_s
        self._llm_spec: LanguageModelSpec | None = llm if llm is not None else settings.llm
        self._reranker_spec: RerankerSpec | None = reranker if reranker is not None else settings.reranker
        self._embedder_spec: EmbedderSpec = embedder if embedder is not None else settings.embedder
        self._embedder: TextEmbedder | None = None
        self._others: dict[str, TextEmbedder] = {}
        self.query_vectors = QueryVectors()

    @property
    def embedder(self) -> TextEmbedder:
        """The configured embedder."""
        if self._embedder is None:
            self._embedder = open_embedder(
                self._embedder_spec, self._timeouts, process_environment=self._process_environment
            )
        return self._embedder

    def embedder_named(self, name: str) -> TextEmbedder:
        """The embedder whose vectors have this name; one that cannot be opened fails when used."""
        if name == self.embedder.name:
            return self.embedder
        if name not in self._others:
            self._others[name] = _open_named(name, self._timeouts, self._process_environment)
        return self._others[name]

    @cached_property
    def language_model(self) -> LanguageModel | None:
        """The configured LLM, if any."""
        return open_language_model(self._llm_spec)

    @cached_property
    def reranker(self) -> Reranker | None:
        """The configured reranker, if any."""
        return open_reranker(self._reranker_spec, self.language_model, timeout_s=self._llm_timeout_s)

    def metered_language_model(self, ledger: SpendLedger) -> LanguageModel | None:
        """The configured LLM, if any, with the ledger of a tenant."""
        return self.language_model.metered(ledger) if self.language_model is not None else None

    def metered_reranker(self, ledger: SpendLedger) -> Reranker | None:
        """The configured reranker, if any; one that uses the LLM, with the ledger of a tenant."""
        reranker = self.reranker
        return reranker.metered(ledger) if isinstance(reranker, LanguageModelReranker) else reranker

    def check(self) -> None:
        """Load all models, so that one that cannot work fails before anything is started."""
        _ = self.embedder, self.language_model, self.reranker

    async def aclose(self) -> None:
        """Close the loaded embedders."""
        for embedder in self._others.values():
            await embedder.aclose()
        if self._embedder is not None:
            await self._embedder.aclose()


@dataclass(frozen=True)
class _Missing:
    """Stands for a model that cannot be opened here; embedding raises EmbeddingError."""

    name: str
    reason: str
    dimensions: None = None

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        raise EmbeddingError(
            f"The vectors here are of the model {self.name}, which cannot be opened ({self.reason}). "
            "Configure it, or embed everything with the configured model: `mnemic reembed`."
        )

    async def aclose(self) -> None:
        """Nothing to close."""


def _open_named(
    name: str, timeouts: EmbeddingTimeouts, process_environment: Mapping[str, str] | None
) -> TextEmbedder:
    try:
        embedder = open_embedder(name, timeouts, process_environment=process_environment)
    except MnemicError as error:
        # The message is for the operator: tenants get the kind of error, and what to do.
        return TextEmbedder(_Missing(name, report_failure(f"embedding model {name}", error)), owned=False)
    if embedder.name != name:
        return TextEmbedder(_Missing(name, f"that name opens {embedder.name}"), owned=False)
    return embedder
