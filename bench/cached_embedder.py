"""An embedder that caches its vectors on disk, for benchmarks that embed the same texts in every run.

It has the name and dimensions of the wrapped engine and returns identical vectors, so results do not change.
A file belongs to one model; the key of a text is its sha256.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from mnemic.models.engine import EmbeddingEngine, FloatArray, InputType

# Write after each block, so that an interrupted run keeps most of its vectors.
BLOCK_TEXTS = 512

_CREATE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
_FIND = "SELECT vector FROM vectors WHERE key = ?"
_KEEP = "INSERT OR IGNORE INTO vectors (key, vector) VALUES (?, ?)"


class CachedEmbedder:
    """Wraps an engine; closing it closes the engine."""

    def __init__(self, engine: EmbeddingEngine, folder: Path) -> None:
        self._engine = engine
        self.name = engine.name
        self.dimensions = engine.dimensions
        folder.mkdir(parents=True, exist_ok=True)
        # All calls come from one event loop, which may run in another thread.
        self._file = sqlite3.connect(
            folder / f"{sha256(engine.name.encode()).hexdigest()[:16]}.sqlite", check_same_thread=False
        )
        self._file.execute(_CREATE)

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        """The vector of each text, from the cache or computed and cached."""
        keys = [_key(text, input_type) for text in texts]
        found = {key: vector for key in keys if (vector := self._find(key)) is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        for start in range(0, len(missing), BLOCK_TEXTS):
            block = dict(list(missing.items())[start : start + BLOCK_TEXTS])
            vectors = await self._engine.embed(list(block.values()), input_type=input_type)
            computed = dict(zip(block, vectors, strict=True))
            self._keep(computed)
            found |= computed
        return np.stack([found[key] for key in keys])

    async def aclose(self) -> None:
        """Close the file and the engine."""
        self._file.close()
        await self._engine.aclose()

    def _keep(self, vectors: Mapping[bytes, FloatArray]) -> None:
        with self._file:
            self._file.executemany(_KEEP, ((key, vector.tobytes()) for key, vector in vectors.items()))

    def _find(self, key: bytes) -> FloatArray | None:
        row = self._file.execute(_FIND, (key,)).fetchone()
        return np.frombuffer(row[0], np.float32) if row is not None else None


def _key(text: str, input_type: InputType) -> bytes:
    """Some models embed queries differently from documents, so the input type is part of the key."""
    return sha256(f"{input_type}\n{text}".encode(errors="surrogatepass")).digest()
