"""Making and reading the map of an owner's memories."""

import asyncio
from typing import Any

import pytest

from mnemic.embeddings.model_change import begin_change, complete_change
from mnemic.errors import InvalidInputError
from mnemic.memory_map import making
from mnemic.memory_map.making import make_map
from mnemic.memory_map.reading import MAP_JOB, TEXT_MAX_CHARACTERS
from mnemic.sdk.job_table import JOBS
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.job import Job
from mnemic.types.memory_map import MAP_POINTS_MAX
from tests.embeddings.models import Watched
from tests.fresh_tenants import OpenMemory, Rows
from tests.memory_map.texts import SUBJECTS, fill
from tests.opened import core_of
from tests.waiting import wait_for

POSITIONS = "SELECT count(*) FROM vectors.memory_positions WHERE tenant_id = %s"
SECRETS = {"xylophone", "lessons", "zoe"}
REGIONS = "SELECT count(*) FROM vectors.map_regions WHERE tenant_id = %s"


async def make(memory: AsyncMemory, owner: str = "alice") -> int | None:
    return await make_map(core_of(memory).storage.tenant_database, owner)


async def run_job(memory: AsyncMemory) -> Job:
    """Run the job that was asked for."""
    (job,) = await memory.jobs.list(type=MAP_JOB, state="waiting")
    working = asyncio.create_task(memory.jobs.work())
    finished = await memory.jobs.wait(job.job_id)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    return finished


async def test_a_map_is_made_by_a_job_when_it_is_asked_for(memory: AsyncMemory) -> None:
    ids = await fill(memory)
    nothing = await memory.memories.map()
    assert (nothing.points, nothing.regions, nothing.made_at, nothing.job_state) == ((), (), None, None)
    asked = await memory.memories.make_map()
    assert (asked.made_at, asked.job_state) == (None, "waiting")
    assert (await memory.memories.make_map()).job_state == "waiting"
    assert len(await memory.jobs.list(type=MAP_JOB)) == 1
    finished = await run_job(memory)
    assert (finished.state, finished.result, finished.owner) == ("done", {"memory_count": 36}, "alice")
    found = await memory.memories.map()
    assert {point.memory_id for point in found.points} == set(ids)
    assert (found.memory_count, found.categories) == (36, {"factual": 36})
    assert (found.is_current, found.job_state) == (True, None)
    assert found.made_at is not None
    assert all(-1 <= value <= 1 for point in found.points for value in (point.x, point.y))
    assert sum(region.memory_count for region in found.regions) == 36


async def test_regions_are_named_by_their_words(memory: AsyncMemory) -> None:
    await fill(memory, count=40)
    await make(memory)
    words = {word for region in (await memory.memories.map()).regions for word in region.words}
    assert words
    assert words <= set(" ".join(SUBJECTS.values()).lower().split())


async def test_points_are_filtered_and_bounded(memory: AsyncMemory) -> None:
    await fill(memory)
    await memory.retain("x" * 500, category="procedural")
    await make(memory)
    (long,) = (await memory.memories.map(categories=["procedural"])).points
    assert (long.category, long.text) == ("procedural", "x" * TEXT_MAX_CHARACTERS)
    few = await memory.memories.map(limit=5)
    assert (len(few.points), few.memory_count) == (5, 37)
    for region in few.regions:
        points = (await memory.memories.map(region=region.region)).points
        assert {point.region for point in points} == {region.region}
        assert len(points) == region.memory_count
    bad: list[dict[str, Any]] = [
        {"limit": 0},
        {"limit": MAP_POINTS_MAX + 1},
        {"region": -1},
        {"region": "a"},
        {"categories": ["nonsense"]},
    ]
    for arguments in bad:
        with pytest.raises(InvalidInputError):
            await memory.memories.map(**arguments)


async def test_forgotten_memories_and_their_words_are_left_out(memory: AsyncMemory) -> None:
    ids = await fill(memory, ("cooking", "sailing"), count=12)
    secret = [
        (await memory.retain(f"Xylophone lessons with Zoe, number {n}.")).memory_ids[0] for n in range(12)
    ]
    await make(memory)
    shown = await memory.memories.map()
    assert SECRETS & {word for region in shown.regions for word in region.words}
    for memory_id in secret:
        await memory.memories.forget(memory_id)
    found = await memory.memories.map()
    assert {point.memory_id for point in found.points} == set(ids)
    assert found.memory_count == 24
    assert not SECRETS & {word for region in found.regions for word in region.words}
    await memory.memories.restore(secret[0])
    assert (await memory.memories.map()).memory_count == 25


async def test_what_lists_do_not_show_is_not_on_the_map(memory: AsyncMemory) -> None:
    ids = await fill(memory, ("cooking",), count=3)
    await memory.memories.forget(ids[0])
    await memory.channels.fork("trial")
    await memory.retain("Only in the branch.", channel="trial")
    assert await make(memory) == 2
    assert {point.memory_id for point in (await memory.memories.map()).points} == set(ids[1:])


async def test_the_newest_and_the_most_salient_are_chosen(
    memory: AsyncMemory, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    (anchored,) = (await memory.retain("An anchored memory.", anchored=True)).memory_ids
    ids = await fill(memory, ("cooking",), count=6)
    # All but the anchored one fade.
    faded = "UPDATE state.memories SET created_at = now() - interval '2 years'"
    rows.run(f"{faded} WHERE tenant_id = '{memory.tenant.id}'")
    monkeypatch.setattr(making, "NEWEST_MAX", 3)
    monkeypatch.setattr(making, "MAP_POINTS_MAX", 4)
    assert await make(memory) == 4
    assert {point.memory_id for point in (await memory.memories.map()).points} == {anchored, *ids[-3:]}


async def test_the_daily_job_makes_the_maps_that_are_outdated(
    memory: AsyncMemory, open_memory: OpenMemory
) -> None:
    everybody = await open_memory(memory.tenant.name, owner=None)
    await fill(memory, ("cooking",), count=3)
    await memory.retain("Bob sails.", owner="bob")
    results = []
    for step in range(3):
        if step == 2:
            await memory.retain("Bob sails again.", owner="bob")
        await everybody.jobs.enqueue(MAP_JOB)
        results.append((await run_job(memory)).result)
    assert results == [{"made_count": 2}, {"made_count": 0}, {"made_count": 1}]
    assert (await memory.memories.map(owner="bob")).memory_count == 2
    assert ("memory map", MAP_JOB) in [(default.name, type) for default, type in JOBS.default_schedules]


async def test_another_model_makes_the_map_outdated(
    open_memory: OpenMemory, old: Watched, new: Watched
) -> None:
    memory = await open_memory(embedder=old)
    await fill(memory, ("cooking",), count=5)
    await make(memory)
    assert (await memory.memories.map()).is_current
    after = await open_memory(memory.tenant.name, embedder=new)
    await begin_change(core_of(after))
    assert await complete_change(core_of(after), new.name)
    found = await after.memories.map()
    assert (found.is_current, found.memory_count) == (False, 5)
    everybody = await open_memory(memory.tenant.name, embedder=new, owner=None)
    await everybody.jobs.enqueue(MAP_JOB)
    assert (await run_job(after)).result == {"made_count": 1}
    assert (await after.memories.map()).is_current


async def test_a_map_of_nothing(memory: AsyncMemory, rows: Rows) -> None:
    assert await make(memory) is None
    ids = await fill(memory, ("cooking",), count=3)
    assert await make(memory) == 3
    for memory_id in ids:
        await memory.memories.forget(memory_id)
    assert (await memory.memories.map()).points == ()
    assert await make(memory) == 0
    assert rows.value(POSITIONS, memory.tenant.id) == 0
    assert (await memory.memories.map()).made_at is None


async def test_owners_see_only_their_own_map(memory: AsyncMemory, open_memory: OpenMemory) -> None:
    mine = await fill(memory, ("cooking",))
    await memory.retain("Bob keeps a secret zebra.", owner="bob")
    await make(memory)
    await make(memory, "bob")
    found = await memory.memories.map()
    assert {point.memory_id for point in found.points} == set(mine)
    assert [point.text for point in (await memory.memories.map(owner="bob")).points] == [
        "Bob keeps a secret zebra."
    ]
    assert (await (await open_memory()).memories.map()).made_at is None


async def test_a_map_is_erased_with_its_owner(memory: AsyncMemory, rows: Rows) -> None:
    await fill(memory)
    await memory.retain("Bob sails.", owner="bob")
    await make(memory)
    await make(memory, "bob")
    receipt = await memory.admin.erase("alice")
    assert receipt.rows["vectors.memory_positions"] == 36
    assert receipt.rows["vectors.map_regions"] > 0
    assert (rows.value(POSITIONS, memory.tenant.id), rows.value(REGIONS, memory.tenant.id)) == (1, 1)


async def test_nothing_is_left_of_an_owner_that_is_erased_while_its_map_is_made(
    memory: AsyncMemory, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(memory)
    stored = making._store

    async def store_while_erasing(*arguments: Any) -> int:
        count = await stored(*arguments)
        # It waits for the memories that this transaction holds, and has passed the tables of the map by then.
        erasing.append(asyncio.create_task(memory.admin.erase("alice")))
        await wait_for(lambda: bool(rows.value("SELECT count(*) > 0 FROM pg_locks WHERE NOT granted")))
        return count

    erasing: list[asyncio.Task[Any]] = []
    monkeypatch.setattr(making, "_store", store_while_erasing)
    await make(memory)
    await erasing[0]
    assert (rows.value(POSITIONS, memory.tenant.id), rows.value(REGIONS, memory.tenant.id)) == (0, 0)


async def test_two_jobs_for_one_owner_leave_one_map(memory: AsyncMemory, rows: Rows) -> None:
    await fill(memory)
    await asyncio.gather(*(make(memory) for _ in range(4)))
    assert rows.value(POSITIONS, memory.tenant.id) == 36
    regions = (await memory.memories.map()).regions
    assert sum(region.memory_count for region in regions) == 36
