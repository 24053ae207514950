"""A large call prepares the next batch while the database works on the current one."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from mnemic.retain.prefetch import STEP_ITEMS, in_steps, prefetched


async def numbers(made: list[int], *, until: int, bad: int | None = None) -> AsyncGenerator[int]:
    try:
        for number in range(1, until + 1):
            if number == bad:
                raise ValueError(number)
            made.append(number)
            yield number
    finally:
        made.append(0)


async def work_on(things: AsyncGenerator[int], made: list[int], *, enough: int = 9) -> list[tuple[int, int]]:
    """Await something with each value; returns each with the last value computed by then."""
    seen = []
    async with prefetched(things) as ready:
        async for thing in ready:
            assert made[-1] == thing, "none is made before somebody waits"
            await asyncio.sleep(0)
            if thing == enough:
                raise RuntimeError("enough")
            seen.append((thing, made[-1]))
    return seen


async def test_the_next_value_is_computed_while_the_current_one_is_used() -> None:
    made: list[int] = []
    assert await work_on(numbers(made, until=3), made) == [(1, 2), (2, 3), (3, 0)]


async def test_an_error_is_raised_when_its_value_is_due() -> None:
    made: list[int] = []
    with pytest.raises(ValueError, match="3"):
        await work_on(numbers(made, until=4, bad=3), made)
    assert made == [1, 2, 0]


async def test_leaving_early_cancels_the_prefetch() -> None:
    made: list[int] = []
    before = asyncio.all_tasks()
    with pytest.raises(RuntimeError, match="enough"):
        await work_on(numbers(made, until=4, bad=2), made, enough=1)
    assert made == [1, 0]
    assert asyncio.all_tasks() <= before


async def test_other_tasks_run_between_steps() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    count = len([thing async for thing in in_steps(range(3 * STEP_ITEMS))])
    task.cancel()
    assert (count, turns) == (3 * STEP_ITEMS, 3)
