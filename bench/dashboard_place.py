"""A tenant as large as those that the dashboard is measured on: mostly turns, and a thing of every kind.

One owner has nearly all memories; some small owners have the rest. Everything is stored by public calls, with
generated vectors (`bench/speed_vectors.py`).
"""

from pathlib import Path

from bench.speed_index import settle
from bench.speed_sizes import SEED, fill
from bench.speed_vectors import ClusteredVectors
from mnemic import AsyncMemory

OWNER = "bench"
SMALL_OWNERS = 30
SMALL_OWNER_MEMORIES = 20
ENTITIES = 400
RELATIONS = 800
NOTES = 500
CATEGORIES = ("factual", "preference", "procedural", "behavioral")
UNKNOWN_JOBS = 200


async def fill_place(data_dir: Path, memory_count: int) -> None:
    """Fill a new data folder, build the indexes of the large owner, and count everything."""
    async with AsyncMemory(data_dir=data_dir, embedder=ClusteredVectors()) as memory:
        await fill(memory, OWNER, memory_count, seed=SEED)
        for number in range(SMALL_OWNERS):
            await fill(memory, f"small {number}", SMALL_OWNER_MEMORIES, seed=SEED + number)
        large = memory.scope(owner=OWNER)
        await _add_notes(large)
        await _add_entities(large)
        await _add_jobs(memory)
        await settle(memory, data_dir, OWNER, memory_count)
        await memory.metrics.snapshots(refresh=True)


async def _add_notes(memory: AsyncMemory) -> None:
    """Notes of every category; each second one says nearly the same as the one before."""
    await memory.retain_many(
        {
            "content": f"Note {number // 2} about garden {number // 2 % 50}, version {number % 2}.",
            "category": CATEGORIES[number % len(CATEGORIES)],
            "tags": [f"tag {number % 20}"],
        }
        for number in range(NOTES)
    )


async def _add_entities(memory: AsyncMemory) -> None:
    for number in range(ENTITIES):
        await memory.entities.upsert("person", f"Entity {number}", facts={"number": number})
    for number in range(RELATIONS):
        start, end = number % ENTITIES, (number * 7 + 1) % ENTITIES
        if start != end:
            names = ("person", f"Entity {start}"), ("person", f"Entity {end}")
            await memory.entities.relate(*names, "knows")


async def _add_jobs(memory: AsyncMemory) -> None:
    """Jobs that no worker knows."""
    await memory.jobs.enqueue_many("bench.unknown", [{"number": number} for number in range(UNKNOWN_JOBS)])
