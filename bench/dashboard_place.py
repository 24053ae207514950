"""A tenant as large as those that the dashboard is measured on: mostly turns, and a thing of every kind.

One owner has nearly all memories; some small owners have the rest. Everything is stored by public calls, with
generated vectors (`bench/speed_vectors.py`).
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.speed_index import settle
from bench.speed_sizes import SEED, fill
from bench.speed_vectors import ClusteredVectors
from mnemic import AsyncMemory
from mnemic.runtime.hourly_metrics import BUCKET_COUNT, HourCounts, add_counts
from mnemic.types.series import CONFIDENCE_BINS, SeriesOperation

OWNER = "bench"
SMALL_OWNERS = 30
SMALL_OWNER_MEMORIES = 20
ENTITIES = 400
RELATIONS = 800
NOTES = 500
CATEGORIES = ("factual", "preference", "procedural", "behavioral")
UNKNOWN_JOBS = 200
HOURS = 30 * 24


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
        await _add_hours(memory)
        await settle(memory, data_dir, OWNER, memory_count)
        await _make_map(large)
        while (await memory.metrics.overview()).events.unsequenced_count:
            await memory.events.list(limit=1)
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


async def _make_map(memory: AsyncMemory) -> None:
    """The map of the large owner; the worker of this process makes it."""
    await memory.memories.make_map()
    for job in await memory.jobs.list(type="memories.map"):
        await memory.jobs.wait(job.job_id, timeout_s=600)


async def _add_jobs(memory: AsyncMemory) -> None:
    """Jobs that no worker knows."""
    await memory.jobs.enqueue_many("bench.unknown", [{"number": number} for number in range(UNKNOWN_JOBS)])


async def _add_hours(memory: AsyncMemory) -> None:
    """Calls in every hour of the last month, which no public call can make."""
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    operations: tuple[SeriesOperation, ...] = ("retain", "recall", "model")
    counts = {
        (now - timedelta(hours=hour), operation): HourCounts(
            call_count=90,
            refused_count=hour % 7,
            memory_count=50 + hour % 40,
            spent_microdollars=hour % 90,
            durations=[2] * BUCKET_COUNT,
            confidences=[hour % 9] * CONFIDENCE_BINS,
        )
        for hour in range(1, HOURS)
        for operation in operations
    }
    await add_counts(memory._core.storage.tenant_database, counts)
