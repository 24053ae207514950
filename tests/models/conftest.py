"""Fixtures for the models: the real local network, which is loaded once per process."""

from collections.abc import AsyncIterator

import pytest

from mnemic.models.embedding import TextEmbedder, open_embedder


@pytest.fixture
async def local() -> AsyncIterator[TextEmbedder]:
    """The local embedder."""
    embedder = open_embedder("local")
    yield embedder
    await embedder.aclose()
