"""Whether large tenants slow down small ones on the same server.

Two servers hold the same small tenants; one of them also holds the large tenants of `speed_sizes`. A tenant
is asked the same questions on both, alternating, so that other work on the machine affects both. The large
tenants are in the same tables and indexes, but idle.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.speed_index import tidy_up
from bench.speed_measure import LIMIT, NEVER_REFUSE, Latency
from bench.speed_sizes import OWNER, fill
from bench.speed_texts import AskedQuestion, questions
from bench.speed_vectors import ClusteredVectors, NearVectors
from mnemic import AsyncMemory
from mnemic.db.embedded import EmbeddedServer
from mnemic.models.engine import EmbeddingEngine

SEED = 7_000
MEMORIES_PER_TENANT = 1_000
MEASURED_TENANTS_MAX = 50
CALLS_PER_TENANT = 20
WARM_UP_CALLS = 3


@dataclass(frozen=True)
class Neighbours:
    """Latencies of small tenants, alone and beside large ones."""

    tenant_count: int
    memories_per_tenant: int
    measured_count: int
    alone: Latency
    beside: Latency

    @property
    def p95_ratio(self) -> float:
        """p95 beside the large tenants, relative to p95 without them."""
        return self.beside.p95_ms / self.alone.p95_ms


async def fill_tenants(data_dir: Path, tenant_count: int) -> None:
    """Fill small tenants with different texts, on one server that keeps running."""
    with await asyncio.to_thread(EmbeddedServer.start, data_dir):
        for number in range(tenant_count):
            engine = ClusteredVectors()
            async with AsyncMemory(data_dir=data_dir, tenant=_tenant(number), embedder=engine) as memory:
                await fill(memory, OWNER, MEMORIES_PER_TENANT, seed=SEED + number)


async def measure_neighbours(
    alone_dir: Path, beside_dir: Path, model: EmbeddingEngine, *, tenant_count: int
) -> Neighbours:
    """Ask small tenants from the whole list on both servers, both vacuumed."""
    for data_dir in (alone_dir, beside_dir):
        await asyncio.to_thread(tidy_up, data_dir)
    measured_count = min(tenant_count, MEASURED_TENANTS_MAX)
    alone_ms: list[float] = []
    beside_ms: list[float] = []
    for position in range(measured_count):
        number = position * tenant_count // measured_count
        asked = questions(WARM_UP_CALLS + CALLS_PER_TENANT, of_count=MEMORIES_PER_TENANT, seed=SEED + number)
        engine = NearVectors(model, {each.question: each.about for each in asked})
        async with (
            AsyncMemory(data_dir=alone_dir, tenant=_tenant(number), owner=OWNER, embedder=engine) as alone,
            AsyncMemory(data_dir=beside_dir, tenant=_tenant(number), owner=OWNER, embedder=engine) as beside,
        ):
            await _take_turns(alone, beside, asked[:WARM_UP_CALLS], [], [])
            await _take_turns(alone, beside, asked[WARM_UP_CALLS:], alone_ms, beside_ms)
    return Neighbours(
        tenant_count, MEMORIES_PER_TENANT, measured_count, Latency.of(alone_ms), Latency.of(beside_ms)
    )


async def _take_turns(
    alone: AsyncMemory,
    beside: AsyncMemory,
    asked: Sequence[AskedQuestion],
    alone_ms: list[float],
    beside_ms: list[float],
) -> None:
    """Ask each question on both servers, alternating which is first."""
    turns = [(alone, alone_ms), (beside, beside_ms)]
    for position, each in enumerate(asked):
        for memory, times_ms in turns if position % 2 == 0 else reversed(turns):
            began_s = time.perf_counter()
            await memory.recall(each.question, limit=LIMIT, refuse_below=NEVER_REFUSE)
            times_ms.append((time.perf_counter() - began_s) * 1000)


def _tenant(number: int) -> str:
    return f"small {number}"
