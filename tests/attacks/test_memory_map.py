"""Attacks on the map of memories: other owners, forgotten words, floods, texts made to cost."""

import asyncio
import time

import pytest

from mnemic.errors import MnemicError
from mnemic.memory_map.making import make_map
from mnemic.memory_map.reading import MAP_JOB
from mnemic.memory_map.regions import WORD_MAX_CHARACTERS, WORDS_MAX
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory_map import MemoryMap
from tests.accepted_grants import accepted_grant
from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    OpenMemory,
    Rows,
    memory,
    open_memory,
    rows,
    superuser,
)
from tests.opened import core_of

FLOOD = 200
SECRET = "zanzibar"


def words_of(found: MemoryMap) -> set[str]:
    return {word for region in found.regions for word in region.words}


async def keep_secrets(memory: AsyncMemory, owner: str) -> None:  # noqa: F811
    """Memories of which a region's words would tell the secret, and others beside them."""
    own = memory.scope(owner=owner)
    await own.retain([f"The password of {SECRET} has {n} letters." for n in range(15)])
    await own.retain([f"Today we cooked tomato soup, day {n}." for n in range(15)])
    await make_map(core_of(memory).storage.tenant_database, owner)


async def test_nobody_reads_the_map_of_others(
    memory: AsyncMemory,  # noqa: F811
    open_memory: OpenMemory,  # noqa: F811
) -> None:
    await keep_secrets(memory, "bob")
    assert SECRET in words_of(await memory.memories.map(owner="bob"))
    await accepted_grant(memory, "alice", owner="bob")
    stranger = await open_memory()
    for reader in (memory, stranger, stranger.scope(owner="bob")):
        found = await reader.memories.map()
        assert (found.points, found.regions, found.made_at) == ((), (), None)


async def test_positions_forged_for_memories_of_others_show_nothing(
    memory: AsyncMemory,  # noqa: F811
    rows: Rows,  # noqa: F811
) -> None:
    """As an import or an injected statement could: rows of Alice that refer to memories of Bob."""
    await keep_secrets(memory, "bob")
    tenant = memory.tenant.id
    for table in ("memory_positions", "map_regions"):
        rows.run(f"UPDATE vectors.{table} SET owner = 'alice' WHERE tenant_id = '{tenant}'")
    found = await memory.memories.map(owner="alice")
    assert (found.points, found.regions, found.memory_count) == ((), (), 0)


async def test_words_of_forgotten_and_archived_memories_are_not_told(
    memory: AsyncMemory,  # noqa: F811
) -> None:
    await keep_secrets(memory, "alice")
    told = await memory.memories.map()
    assert SECRET in words_of(told)
    secret = [point.memory_id for point in told.points if SECRET in point.text]
    for number, memory_id in enumerate(secret):
        if number % 2:
            await memory.memories.forget(memory_id)
        else:
            await memory.memories.supersede(memory_id, f"It was removed, number {number}.")
    after = await memory.memories.map()
    assert SECRET not in words_of(after)
    assert not any(SECRET in point.text for point in after.points)


async def test_a_flood_of_requests_makes_few_jobs(memory: AsyncMemory) -> None:  # noqa: F811
    await memory.retain("Alice lives in Berlin.")
    await memory.memories.make_map()
    for _ in range(FLOOD // 20):
        await asyncio.gather(*(memory.memories.make_map() for _ in range(20)))
    assert len(await memory.jobs.list(type=MAP_JOB)) == 1


async def test_texts_made_to_cost_are_mapped_in_bounded_time_and_space(
    memory: AsyncMemory,  # noqa: F811
    subtests: pytest.Subtests,
) -> None:
    texts = {
        "one endless word": ["a" * 20_000 + str(n) for n in range(20)],
        "all words differ": [" ".join(f"w{n}x{k}" for k in range(3_000)) for n in range(20)],
        "signs": ["%_\\'\"<script>;--{}[]()*+?.^$|" * 50 + str(n) for n in range(20)],
        "combining": ["e\u0301\u0323" * 2_000 + str(n) for n in range(20)],
        "equal but for a number": [f"same same same {n}" for n in range(40)],
    }
    for kind, given in texts.items():
        with subtests.test(kind):
            owner = memory.scope(owner=kind)
            await owner.retain(given)
            began = time.process_time()
            try:
                await make_map(core_of(memory).storage.tenant_database, kind)
            except MnemicError as error:
                pytest.fail(f"the map failed: {error}")
            # It takes some milliseconds; a cost that grows without bound takes minutes.
            assert time.process_time() - began < 20
            found = await owner.memories.map()
            assert found.memory_count > 0
            for region in found.regions:
                assert len(region.words) <= WORDS_MAX
                assert all(len(word) <= WORD_MAX_CHARACTERS for word in region.words)
