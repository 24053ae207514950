"""Query embeddings are cached: for each owner by itself, bounded, and without errors."""

from collections.abc import Sequence

import numpy as np
import pytest

from mnemic.errors import EmbeddingError
from mnemic.models.engine import FloatArray, InputType
from mnemic.models.testing import HashedWords
from mnemic.runtime import query_vectors
from mnemic.runtime.query_vectors import QueryVectors
from tests.fresh_tenants import OpenMemory
from tests.opened import core_of


class CountingEngine:
    """Counts the queries that it embeds; fails while `fails` is set."""

    def __init__(self) -> None:
        self._engine = HashedWords()
        self.name = "test:counting"
        self.dimensions = self._engine.dimensions
        self.queries: list[str] = []
        self.fails = False

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        if input_type == "query":
            if self.fails:
                raise EmbeddingError("down")
            self.queries += texts
        return await self._engine.embed(texts, input_type=input_type)

    async def aclose(self) -> None:
        await self._engine.aclose()


async def test_a_repeated_query_is_embedded_once_for_each_owner_and_tenant(open_memory: OpenMemory) -> None:
    engine = CountingEngine()
    memory = await open_memory(embedder=engine)
    await memory.retain("The kayak is in the garage.", owner="ada")
    first, again = [await memory.recall("Where is the kayak?", owner="ada", explain=True) for _ in range(2)]
    assert len(engine.queries) == 1
    assert [(hit.memory, hit.explain) for hit in first] == [(hit.memory, hit.explain) for hit in again]
    await memory.recall("Where is the kayak?", owner="bob")
    assert len(engine.queries) == 2, "whether it was fast tells bob nothing about ada's questions"
    other = await open_memory("another", embedder=engine)
    await other.recall("Where is the kayak?", owner="ada")
    assert len(engine.queries) == 3


async def test_a_failed_embedding_is_tried_again(open_memory: OpenMemory) -> None:
    engine = CountingEngine()
    memory = await open_memory(embedder=engine)
    await memory.retain("The kayak is in the garage.", owner="ada")
    engine.fails = True
    failed = await memory.recall("Where is the kayak?", owner="ada")
    assert any("vector was left out" in note for note in failed.notes)
    engine.fails = False
    found = await memory.recall("Where is the kayak?", owner="ada")
    assert found.notes == ()
    assert found.counts["vector"] == 1


async def test_the_cache_is_bounded_and_drops_the_least_recently_used(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = CountingEngine()
    core = core_of(await open_memory(embedder=engine))
    monkeypatch.setattr(query_vectors, "CACHED_MAX_BYTES", 2 * 4 * engine.dimensions)
    cache = QueryVectors()

    async def embed(text: str) -> FloatArray:
        return await cache.embed(core.embedder, text, tenant_id=core.tenant.id, owner="ada")

    vectors = [await embed(text) for text in ("one", "two", "one", "three", "one", "two")]
    assert engine.queries == ["one", "two", "three", "two"]
    np.testing.assert_array_equal(vectors[0], vectors[4])
