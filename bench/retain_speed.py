"""Speed of `retain` and `retain_many`, without an embedder and relative to the local embedder."""

import os
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.precomputed_vectors import PrecomputedVectors, random_vectors
from bench.sentences import sentences
from mnemic import AsyncMemory, Memory
from mnemic.models.embedding import TextEmbedder, open_embedder
from mnemic.retain.batches import BATCH_ROWS

# Each part has its own seed, so that texts of different parts are no duplicates.
BULK_SEED = 1_000
SINGLE_SEED = 2_000
SINGLE_TENANT = "test model"
LOCAL_SEED = 3_000
WARM_UP_COUNT = 20
# Synchronous and asynchronous calls alternate, so that a slow minute of the machine affects both.
SINGLE_TURNS = 6
DISK_SYNCS_PER_TURN = 10
DISK_SYNC_BYTES = 8192


@dataclass(frozen=True)
class Bulk:
    """Rounds of `retain_many` for one owner, whose memories accumulate."""

    count: int
    rates_per_s: list[float]

    @property
    def rate_per_s(self) -> float:
        return statistics.median(self.rates_per_s)


@dataclass(frozen=True)
class Latency:
    """Times of single calls."""

    p50_ms: float
    p95_ms: float
    count: int


@dataclass(frozen=True)
class Single:
    """Single calls by an owner without memories, and by one with `filled_count` memories.

    `disk_sync_p50_ms` is the time of a bare fsync in between: no durable call can be faster.
    """

    new_sync: Latency
    new_async: Latency
    filled_sync: Latency
    filled_async: Latency
    filled_count: int
    disk_sync_p50_ms: float


@dataclass(frozen=True)
class BesideEmbedder:
    """Rounds of embedding alone and of retaining the same texts; with a share of 1 writing takes no time."""

    count: int
    embedder_rates_per_s: list[float]
    retain_rates_per_s: list[float]

    @property
    def share(self) -> float:
        pairs = zip(self.retain_rates_per_s, self.embedder_rates_per_s, strict=True)
        return statistics.median(retain / embedder for retain, embedder in pairs)


async def measure_bulk(data_dir: Path, *, count: int, rounds: int) -> Bulk:
    """`retain_many` with precomputed vectors, `rounds` times for one owner, whose memories accumulate."""
    texts = sentences(count * rounds, seed=BULK_SEED)
    engine = PrecomputedVectors(texts, random_vectors(len(texts), seed=BULK_SEED))
    rates_per_s = []
    async with AsyncMemory(data_dir=data_dir, owner="bulk", embedder=engine) as memory:
        for start in range(0, len(texts), count):
            batch = texts[start : start + count]
            began_s = time.perf_counter()
            retained = await memory.retain_many(batch)
            rates_per_s.append(count / (time.perf_counter() - began_s))
            assert retained.stored_count == count, retained
    return Bulk(count, rates_per_s)


async def measure_single(data_dir: Path, *, count: int, filled_count: int) -> Single:
    """Single `retain` calls with the test model, by `Memory` and `AsyncMemory`.

    The tenant is new, because the existing vectors of a tenant decide which model serves it.
    """
    filling = sentences(filled_count, seed=SINGLE_SEED)
    async with AsyncMemory(
        data_dir=data_dir, tenant=SINGLE_TENANT, owner="filled", embedder="test"
    ) as memory:
        retained = await memory.retain_many(filling)
        assert retained.awaiting_embedding_count == 0, "the test model serves this tenant"
        new = await _alternate(memory.scope(owner="new"), data_dir, count, SINGLE_SEED + 1)
        filled = await _alternate(memory, data_dir, count, SINGLE_SEED + 2)
    return Single(
        new_sync=_latency(new.sync_ms),
        new_async=_latency(new.async_ms),
        filled_sync=_latency(filled.sync_ms),
        filled_async=_latency(filled.async_ms),
        filled_count=filled_count,
        disk_sync_p50_ms=statistics.median([*new.disk_ms, *filled.disk_ms]),
    )


@dataclass(frozen=True)
class _AlternatingTimes:
    """Times of alternating calls."""

    sync_ms: list[float] = field(default_factory=list)
    async_ms: list[float] = field(default_factory=list)
    disk_ms: list[float] = field(default_factory=list)


async def _alternate(asynchronous: AsyncMemory, data_dir: Path, count: int, seed: int) -> _AlternatingTimes:
    """Alternate between `Memory`, `AsyncMemory` and a bare fsync."""
    texts = iter(sentences(2 * (count + WARM_UP_COUNT) + 2 * SINGLE_TURNS, seed=seed))
    turns = _AlternatingTimes()
    per_turn = -(-count // SINGLE_TURNS)
    with Memory(
        data_dir=data_dir, tenant=SINGLE_TENANT, owner=asynchronous.owner, embedder="test"
    ) as synchronous:
        for _ in range(WARM_UP_COUNT):
            synchronous.retain(next(texts))
            await asynchronous.retain(next(texts))
        for _ in range(SINGLE_TURNS):
            for _ in range(per_turn):
                turns.sync_ms.append(_time_ms(lambda: synchronous.retain(next(texts))))
            for _ in range(per_turn):
                turns.async_ms.append(await _time_async_ms(lambda: asynchronous.retain(next(texts))))
            turns.disk_ms.extend(_disk_sync_ms(data_dir) for _ in range(DISK_SYNCS_PER_TURN))
    return turns


async def measure_beside_embedder(data_dir: Path, *, count: int, rounds: int) -> BesideEmbedder:
    """The local model alone and inside `retain_many`, over the same texts, alternating.

    Each round retains for another owner, so that everything is embedded again. The tenant is new, as in
    `measure_single`.
    """
    texts = sentences(count, seed=LOCAL_SEED)
    embedder = open_embedder("local")
    alone_s: list[float] = []
    retain_s: list[float] = []
    try:
        async with AsyncMemory(data_dir=data_dir, tenant="local model", embedder="local") as memory:
            await embedder.embed_documents(texts[:WARM_UP_COUNT])
            await memory.retain_many(texts[:WARM_UP_COUNT], owner="local warm-up")
            for number in range(rounds):
                turns = [
                    (alone_s, lambda: _embed(embedder, texts)),
                    (retain_s, lambda: memory.retain_many(texts, owner=f"local {number}")),  # noqa: B023
                ]
                for times_s, work in turns if number % 2 == 0 else reversed(turns):
                    times_s.append(await _time_async_ms(work) / 1000)
    finally:
        await embedder.aclose()
    return BesideEmbedder(count, [count / took for took in alone_s], [count / took for took in retain_s])


async def _embed(embedder: TextEmbedder, texts: list[str]) -> None:
    """Embed in batches, as `retain_many` does."""
    for start in range(0, len(texts), BATCH_ROWS):
        await embedder.embed_documents(texts[start : start + BATCH_ROWS])


def _disk_sync_ms(data_dir: Path) -> float:
    """Write a block in the data folder and wait for the disk, as a commit does."""
    probe = data_dir.parent / "disk-probe"
    with probe.open("wb", buffering=0) as file:
        file.write(os.urandom(DISK_SYNC_BYTES))
        os.fsync(file.fileno())
        file.seek(0)
        file.write(os.urandom(DISK_SYNC_BYTES))
        took_ms = _time_ms(lambda: os.fsync(file.fileno()))
    probe.unlink()
    return took_ms


def _time_ms(call: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    call()
    return (time.perf_counter() - began_s) * 1000


async def _time_async_ms(call: Callable[[], Awaitable[object]]) -> float:
    began_s = time.perf_counter()
    await call()
    return (time.perf_counter() - began_s) * 1000


def _latency(times_ms: list[float]) -> Latency:
    p50_ms, p95_ms = np.percentile(times_ms, [50, 95])
    return Latency(float(p50_ms), float(p95_ms), len(times_ms))
