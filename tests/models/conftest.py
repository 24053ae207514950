"""Fixtures for the models: the real local network, loaded once per process anyway."""

from collections.abc import AsyncIterator

import pytest

from mnemic.models.embedding import TextEmbedder, open_embedder


@pytest.fixture
async def local() -> AsyncIterator[TextEmbedder]:
    """The local model as everybody gets it."""
    embedder = open_embedder("local")
    yield embedder
    await embedder.aclose()
