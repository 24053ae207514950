"""Recall in one large tenant: fill, index, restart, ask cold and warm, compare with an exact scan.

All sizes are in one database, each in its own tenant. `retain_many` fills them with generated vectors; then
the vector index and the word statistics are built, which background tasks do for a user, and the server
restarts. *Cold* are the first calls after that: the server's own cache is empty, that of the operating system
may not be. *Warming up* are the next calls, until most pages are in the cache: a thousand for a million
memories. *Warm* are the calls after that. The model is loaded before, because a process loads it only once.
"""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bench.speed_index import measure_ann_recall, settle
from bench.speed_measure import Readers, measure_readers
from bench.speed_texts import AskedQuestion, questions, turns
from bench.speed_vectors import ClusteredVectors, NearVectors
from mnemic import AsyncMemory
from mnemic.db.embedded import stop
from mnemic.models.engine import EmbeddingEngine

OWNER = "bench"
SEED = 6_000
FILL_ITEMS = 10_000
COLD_CALLS = 20
WARM_UP_MIN_CALLS = 30
WARM_UP_CALLS_PER_MEMORY = 0.001
READER_COUNTS = (1, 8)
EXACT_QUERIES = 50


@dataclass(frozen=True)
class SizeResult:
    """Results for one size; `ann_recall` is None where the owner has no vector index."""

    memory_count: int
    fill_per_s: float
    settle_s: float
    cold: Readers
    warming: Readers
    warm: list[Readers]
    ann_recall: float | None


async def measure_size(
    data_dir: Path, model: EmbeddingEngine, *, memory_count: int, call_count: int
) -> SizeResult:
    """Fill a new tenant and measure it."""
    tenant = f"size {memory_count}"
    async with AsyncMemory(data_dir=data_dir, tenant=tenant, embedder=ClusteredVectors()) as memory:
        fill_s = await fill(memory, OWNER, memory_count, seed=SEED + memory_count)
        settle_s = await settle(memory, data_dir, OWNER, memory_count)
    assert await asyncio.to_thread(stop, data_dir), "the server must stop here"
    asked = _asked(memory_count, call_count)
    engine = NearVectors(model, {each.question: each.about for each in asked})
    rest = iter(asked)
    async with AsyncMemory(data_dir=data_dir, tenant=tenant, owner=OWNER, embedder=engine) as memory:
        cold = await measure_readers(memory, _next(rest, COLD_CALLS), reader_count=1)
        warming = await measure_readers(memory, _next(rest, _warm_up_calls(memory_count)), reader_count=1)
        warm = [
            await measure_readers(memory, _next(rest, call_count), reader_count=count)
            for count in READER_COUNTS
        ]
        ann_recall = await measure_ann_recall(memory, OWNER, _next(rest, EXACT_QUERIES), memory_count)
    return SizeResult(memory_count, memory_count / fill_s, settle_s, cold, warming, warm, ann_recall)


def _asked(memory_count: int, call_count: int) -> list[AskedQuestion]:
    """Different questions for all phases, so that no result is cached by an earlier call."""
    count = COLD_CALLS + _warm_up_calls(memory_count) + len(READER_COUNTS) * call_count + EXACT_QUERIES
    return questions(count, of_count=memory_count, seed=SEED + memory_count)


def _warm_up_calls(memory_count: int) -> int:
    return max(WARM_UP_MIN_CALLS, round(WARM_UP_CALLS_PER_MEMORY * memory_count))


def _next(asked: Iterator[AskedQuestion], count: int) -> list[AskedQuestion]:
    return list(islice(asked, count))


async def fill(memory: AsyncMemory, owner: str, count: int, *, seed: int) -> float:
    """Retain `count` turns; returns the seconds it took."""
    items = turns(count, seed=seed)
    began_s = time.perf_counter()
    while block := list(islice(items, FILL_ITEMS)):
        retained = await memory.retain_many(block, owner=owner)
        assert retained.stored_count == len(block), retained
    return time.perf_counter() - began_s
