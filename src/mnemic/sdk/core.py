"""What a memory, its scoped views and its groups share."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mnemic.config import Settings
from mnemic.db.database import TenantDatabase
from mnemic.errors import ClosedError
from mnemic.models.embedding import EmbedderSpec, TextEmbedder, open_embedder
from mnemic.sdk.place import Place, open_place
from mnemic.types.scope import Scope


class Core:
    """What a memory and all its scoped views share. States: new → open → closed."""

    def __init__(self, settings: Settings, embedder: EmbedderSpec | None = None) -> None:
        self.settings = settings
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
                _ = self.embedder  # So that an embedder that cannot work is known before anything is started.
                self._place = await open_place(self.settings)

    @asynccontextmanager
    async def closed_for_a_while(self) -> AsyncIterator[None]:
        """Close the place for a block that needs it to itself, and open it again whatever happens."""
        place = self.place
        async with self._opening:
            self._place = None
            await place.aclose()
            try:
                yield
            finally:
                self._place = await open_place(self.settings)

    async def aclose(self) -> None:
        """Close the place, once and for all."""
        async with self._opening:
            place, self._place, self._closed = self._place, None, True
            if self._embedder is not None:
                await self._embedder.aclose()
            if place is not None:
                await place.aclose()


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
