"""What a memory, its scoped views and its groups share."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property

from mnemic.config import Settings
from mnemic.db.database import TenantDatabase
from mnemic.errors import ClosedError
from mnemic.models.embedding import EmbedderSpec, TextEmbedder, open_embedder
from mnemic.models.language import LanguageModel, LanguageModelSpec, open_language_model
from mnemic.models.reranking import Reranker, RerankerSpec, open_reranker
from mnemic.sdk.place import Place, open_place
from mnemic.sdk.recalled_counts import RecalledCounts
from mnemic.sdk.upkeep import Upkeep
from mnemic.types.scope import Scope

RECALLED_COUNTS = ("recalled counts",)


class Core:
    """What a memory and all its scoped views share. States: new → open → closed."""

    def __init__(
        self,
        settings: Settings,
        embedder: EmbedderSpec | None = None,
        llm: LanguageModelSpec | None = None,
        reranker: RerankerSpec | None = None,
    ) -> None:
        self.settings = settings
        self.upkeep = Upkeep()
        self.recalled_counts = RecalledCounts()
        self.upkeep.on_close(RECALLED_COUNTS, self.write_recalled_counts)
        self._llm_spec: LanguageModelSpec | None = llm if llm is not None else settings.llm
        self._reranker_spec: RerankerSpec | None = reranker if reranker is not None else settings.reranker
        self._embedder_spec: EmbedderSpec = embedder if embedder is not None else settings.embedder
        self._embedder: TextEmbedder | None = None
        self._place: Place | None = None
        self._closed = False
        self._opening = asyncio.Lock()

    @property
    def embedder(self) -> TextEmbedder:
        """What turns text into vectors; loaded when it is first needed."""
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
        return open_reranker(self._reranker_spec, self.language_model, timeout_s=self.settings.llm_timeout_s)

    @property
    def place(self) -> Place:
        """The open place; an error that says what is wrong when there is none."""
        if self._closed:
            raise ClosedError("This Memory is closed. Open a new one.")
        if self._place is None:
            raise ClosedError("This AsyncMemory is not open yet. Use `async with`, or await its open().")
        return self._place

    async def open(self) -> None:
        """Open the place, once."""
        async with self._opening:
            if self._closed:
                raise ClosedError("This Memory is closed. Open a new one.")
            if self._place is None:
                # So that a model that cannot work is known before anything is started.
                _ = self.embedder, self.language_model, self.reranker
                self._place = await open_place(self.settings)

    @asynccontextmanager
    async def closed_for_a_while(self) -> AsyncIterator[None]:
        """Close the place for a block that needs it to itself, and open it again whatever happens."""
        place = self.place
        async with self._opening:
            await self.upkeep.settle()
            self._place = None
            await place.aclose()
            try:
                yield
            finally:
                self._place = await open_place(self.settings)

    async def aclose(self) -> None:
        """Close the place, once and for all."""
        async with self._opening:
            # First, since its jobs need the place.
            await self.upkeep.aclose()
            place, self._place, self._closed = self._place, None, True
            if self._embedder is not None:
                await self._embedder.aclose()
            if place is not None:
                await place.aclose()

    async def write_recalled_counts(self) -> int:
        """Write what was counted since the last time; returns how many memories that were."""
        return await self.recalled_counts.write(self.place.tenant_database)


@dataclass(frozen=True)
class Caller:
    """What every group of calls is made of: the open memory and the scope it is used in."""

    core: Core
    scope: Scope

    @property
    def database(self) -> TenantDatabase:
        """The database as this memory's tenant sees it."""
        return self.core.place.tenant_database

    def scoped(self, owner: str | None = None, channel: str | None = None) -> Scope:
        """The scope of one call: the defaults with what the call names on top; it has an owner."""
        scope = self.scope.narrowed(owner=owner, channel=channel)
        scope.require_owner()
        return scope
