"""Mnemic, on its own embedded server."""

import asyncio
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from bench.drivers.workload import Store, Work, serve
from bench.precomputed_vectors import PrecomputedVectors
from bench.speed_index import settle
from mnemic import AsyncMemory, Memory
from mnemic.db.embedded import stop
from mnemic.models.engine import FloatArray, InputType

OWNER = "bench"
NEVER_REFUSE = 0.0
# The length prefix of messages on multiprocessing connections, which the embedding service uses.
LENGTH = struct.Struct("!i")


class PrecomputedOrService(PrecomputedVectors):
    """Looks up vectors of texts, and calls the shared service for queries, asynchronously."""

    def __init__(self, work: Work) -> None:
        super().__init__(work.texts, work.vectors)
        self._socket = work.embedder
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        """The vector of each."""
        if input_type == "document":
            return await super().embed(texts, input_type=input_type)
        return np.stack([await self._asked(text.encode()) for text in texts])

    async def _asked(self, text: bytes) -> FloatArray:
        if self._streams is None:
            self._streams = await asyncio.open_unix_connection(self._socket)
        reader, writer = self._streams
        writer.write(LENGTH.pack(len(text)) + text)
        (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        return np.frombuffer(await reader.readexactly(length), np.float32)

    async def aclose(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].close()


@contextmanager
def open_store(work: Work) -> Iterator[Store]:
    """A memory whose embedder looks the vectors up; a bulk addition of any size is one atomic call."""
    engine = PrecomputedOrService(work)
    try:
        with Memory(data_dir=work.folder, owner=OWNER, embedder=engine) as memory:
            yield Store(
                add_many=lambda positions: memory.retain_many(work.texts[position] for position in positions),
                add_one=lambda position: memory.retain(work.texts[position]),
                bulk_max=len(work.texts),
                search=lambda query, limit: len(memory.recall(query, limit=limit, refuse_below=NEVER_REFUSE)),
                settle=lambda: asyncio.run(_settle(work, engine)),
            )
    finally:
        stop(work.folder)


async def _settle(work: Work, engine: PrecomputedOrService) -> None:
    async with AsyncMemory(data_dir=work.folder, embedder=engine) as memory:
        await settle(memory, work.folder, OWNER, len(work.texts))


if __name__ == "__main__":
    serve(open_store)
