"""Recalls turns of real conversations, with the code that `mnemic` is imported from.

    python -m bench.drivers.recall_conversations WORK DATA_DIR CACHE

A process that keeps its memory open and runs commands, one line of JSON each:

    {"do": "fill"}                                        →  {"count": 10000, "took_s": 31.4}
    {"do": "recall", "queries": ["…", "…"], "limit": 10}  →  {"times_ms": [12.1, 11.8], "python_cpu_ms": 20.7,
                                                              "postgres_cpu_ms": 19.8, "found_count": 20}

WORK/turns.json has the items. So old and new code are measured in the same minutes, each in its own process
and on its own server. The vectors of stored texts are cached in a folder; queries are embedded every time.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cached_embedder import CachedEmbedder
from bench.cpu_time import find_postmaster, postgres_cpu_ms, python_cpu_ms, spent_between
from bench.speed_index import settle
from mnemic import AsyncMemory
from mnemic.db.embedded import stop
from mnemic.models.engine import EmbeddingEngine, FloatArray, InputType
from mnemic.models.local import MiniLM

OWNER = "bench"
NEVER_REFUSE = 0.0


class CachedDocuments:
    """The local model, with a cache for stored texts only: embedding the query is part of a recall."""

    def __init__(self, model: EmbeddingEngine, folder: Path) -> None:
        self._model = model
        self._cached = CachedEmbedder(model, folder)
        self.name = model.name
        self.dimensions = model.dimensions

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        """The vector of each."""
        engine = self._model if input_type == "query" else self._cached
        return await engine.embed(texts, input_type=input_type)

    async def aclose(self) -> None:
        """Close the cache and the model."""
        await self._cached.aclose()


@dataclass(frozen=True)
class ConversationRecalls:
    """An open memory that fills itself and recalls."""

    memory: AsyncMemory
    data_dir: Path
    items: list[dict[str, Any]]

    async def run(self, command: dict[str, Any]) -> dict[str, Any]:
        """Run one command."""
        if command["do"] == "fill":
            return await self.fill()
        return await self.recall(command["queries"], command["limit"])

    async def fill(self) -> dict[str, Any]:
        """Retain all turns, and build the indexes that background tasks build for a user."""
        began_s = time.perf_counter()
        retained = await self.memory.retain_many(self.items, owner=OWNER)
        await settle(self.memory, self.data_dir, OWNER, retained.stored_count)
        return {"count": retained.stored_count, "took_s": time.perf_counter() - began_s}

    async def recall(self, queries: Sequence[str], limit: int) -> dict[str, Any]:
        """Recall one query after the other."""
        postmaster_pid = find_postmaster(self.data_dir)
        assert postmaster_pid is not None, "the server runs while its memory is open"
        times_ms, found_count = [], 0
        server_before, python_before_ms = postgres_cpu_ms(postmaster_pid), python_cpu_ms()
        for query in queries:
            began_s = time.perf_counter()
            found = await self.memory.recall(query, owner=OWNER, limit=limit, refuse_below=NEVER_REFUSE)
            times_ms.append((time.perf_counter() - began_s) * 1000)
            found_count += len(found)
        return {
            "times_ms": times_ms,
            "python_cpu_ms": python_cpu_ms() - python_before_ms,
            "postgres_cpu_ms": spent_between(server_before, postgres_cpu_ms(postmaster_pid)),
            "found_count": found_count,
        }


async def serve(work: Path, data_dir: Path, cache: Path, replies: Any) -> None:
    """Run the commands from standard input until it ends."""
    items = json.loads((work / "turns.json").read_text("utf-8"))
    engine = CachedDocuments(MiniLM(), cache)
    try:
        async with AsyncMemory(data_dir=data_dir, embedder=engine) as memory:
            recalls = ConversationRecalls(memory, data_dir, items)
            while line := await asyncio.to_thread(sys.stdin.readline):
                print(json.dumps(await recalls.run(json.loads(line))), file=replies)
    finally:
        await engine.aclose()


def main() -> None:
    """Open the memory and serve."""
    # Libraries may print to standard output; keep it for replies only.
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    work, data_dir, cache = map(Path, sys.argv[1:4])
    try:
        asyncio.run(serve(work, data_dir, cache, replies))
    finally:
        stop(data_dir)


if __name__ == "__main__":
    main()
