"""Latency of recalls: whole calls and their stages, with one reader and with several at once."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bench.speed_texts import AskedQuestion
from mnemic import AsyncMemory

NEVER_REFUSE = 0.0
LIMIT = 10


@dataclass(frozen=True)
class Latency:
    """Times of calls, in milliseconds."""

    count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float

    @classmethod
    def of(cls, times_ms: Sequence[float]) -> "Latency":
        """The percentiles of these times."""
        p50_ms, p95_ms, p99_ms = np.percentile(times_ms, [50, 95, 99]).tolist()
        return cls(len(times_ms), p50_ms, p95_ms, p99_ms)


@dataclass(frozen=True)
class Readers:
    """Latencies with this many concurrent readers: whole calls, their stages, and calls per second."""

    reader_count: int
    whole: Latency
    stages: dict[str, Latency]
    calls_per_s: float


async def measure_readers(
    memory: AsyncMemory, asked: Sequence[AskedQuestion], *, reader_count: int
) -> Readers:
    """Ask every question once; each reader takes the next one when its call has returned."""
    waiting = iter(asked)
    times_ms: dict[str, list[float]] = defaultdict(list)
    began_s = time.perf_counter()
    async with asyncio.TaskGroup() as readers:
        for _ in range(reader_count):
            readers.create_task(_read(memory, waiting, times_ms))
    took_s = time.perf_counter() - began_s
    whole = times_ms.pop(WHOLE)
    stages = {stage: Latency.of(times) for stage, times in times_ms.items()}
    return Readers(reader_count, Latency.of(whole), stages, len(whole) / took_s)


WHOLE = "whole call"
"""Measured by the caller; the stages are recall's own timings."""


async def _read(
    memory: AsyncMemory, waiting: Iterator[AskedQuestion], times_ms: dict[str, list[float]]
) -> None:
    for asked in waiting:
        began_s = time.perf_counter()
        found = await memory.recall(asked.question, limit=LIMIT, refuse_below=NEVER_REFUSE)
        times_ms[WHOLE].append((time.perf_counter() - began_s) * 1000)
        for stage, time_ms in found.timings.items():
            times_ms[stage].append(time_ms)
