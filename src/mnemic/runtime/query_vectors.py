"""A cache of query embeddings: the same question is often asked again, and embedding takes most of a recall.

The key is a hash over tenant, owner, model and text, so the cache keeps no text. An owner finds only what it
asked itself: the speed of a recall reveals nothing about the questions of other owners and tenants. The
tenants of a server share one cache, whose size is bounded whatever their number.
"""

from collections import OrderedDict
from hashlib import blake2b
from uuid import UUID

from mnemic.models.embedding import TextEmbedder
from mnemic.models.engine import FloatArray

CACHED_MAX_BYTES = 4_000_000
"""Bytes of all cached vectors together: some 2,600 of the local model."""


class QueryVectors:
    """The vectors of the latest queries of this process; the least recently used are dropped first."""

    def __init__(self) -> None:
        self._vectors: OrderedDict[bytes, FloatArray] = OrderedDict()
        self._bytes = 0

    async def embed(self, embedder: TextEmbedder, text: str, *, tenant_id: UUID, owner: str) -> FloatArray:
        """The vector of a query, cached or embedded now. Raises EmbeddingError; errors are not cached."""
        key = _key(tenant_id.hex, owner, embedder.name, text)
        vector = self._vectors.get(key)
        if vector is None:
            vector = await embedder.embed_query(text)
            self._keep(key, vector)
        else:
            self._vectors.move_to_end(key)
        return vector

    def _keep(self, key: bytes, vector: FloatArray) -> None:
        # A copy: an engine may have returned a view of a larger array.
        kept = vector.copy()
        kept.flags.writeable = False
        replaced = self._vectors.pop(key, None)  # Two calls may have embedded the same text.
        self._vectors[key] = kept
        self._bytes += kept.nbytes - (replaced.nbytes if replaced is not None else 0)
        while self._bytes > CACHED_MAX_BYTES:
            _, dropped = self._vectors.popitem(last=False)
            self._bytes -= dropped.nbytes


def _key(*parts: str) -> bytes:
    """A hash that differs for different parts; lone surrogates are hashed, too."""
    digest = blake2b(digest_size=16)
    for part in parts:
        written = part.encode(errors="surrogatepass")
        digest.update(len(written).to_bytes(8) + written)
    return digest.digest()
