"""Calls of any size use a bounded amount of memory."""

import os
import resource
import tracemalloc
from collections.abc import Iterator

import pytest

from mnemic.retain import batches, spool
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.retained import OUTCOMES_LISTED_MAX

ALLOWED_GROWTH_BYTES = 1 << 20
LARGE = 30_000
LARGE_GROWTH_BYTES = 100 << 20


def facts(call: str, count: int) -> Iterator[str]:
    """Facts of about 400 characters each."""
    return (f"{call} fact {number} " + "with many words in it " * 18 for number in range(count))


async def peak_bytes(memory: AsyncMemory, call: str, count: int) -> int:
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    assert (await memory.retain_many(facts(call, count))).stored_count == count
    return tracemalloc.get_traced_memory()[1] - before


@pytest.mark.usefixtures("no_comparisons")
async def test_memory_does_not_grow_with_the_number_of_items(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "MEMORY_BATCHES", 1)
    monkeypatch.setattr(batches, "BATCH_ROWS", 64)
    await memory.retain_many(facts("warming up", 128))
    tracemalloc.start()
    try:
        few = await peak_bytes(memory, "few", 128)
        many = await peak_bytes(memory, "many", 1_024)
    finally:
        tracemalloc.stop()
    assert many < few + ALLOWED_GROWTH_BYTES, f"{few:,} bytes for 128 items, {many:,} for 1,024"


@pytest.mark.skipif("SLOW_TESTS" not in os.environ, reason="takes half a minute: make test-slow")
async def test_thirty_thousand_items_need_no_more_than_a_hundred_megabytes(memory: AsyncMemory) -> None:
    await memory.retain_many(facts("warming up", 600))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    retained = await memory.retain_many(facts("large", LARGE))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    assert (retained.stored_count, len(retained.stored)) == (LARGE, OUTCOMES_LISTED_MAX)
    assert grown < LARGE_GROWTH_BYTES
    print(f"grown by {grown / 1e6:.1f} MB")
