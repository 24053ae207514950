"""Ending tasks, also those that a cancellation was lost in."""

import asyncio

import pytest

from mnemic.db import task_cancellation as ending
from mnemic.db.task_cancellation import end


async def test_a_task_that_lost_its_cancellation_is_ended_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cancellations = 0

    async def stubborn() -> None:
        nonlocal cancellations
        while cancellations < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancellations += 1

    monkeypatch.setattr(ending, "CANCEL_AGAIN_S", 0.01)
    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    await asyncio.wait_for(end(task), timeout=10)
    assert task.done()
    assert cancellations == 2


async def test_how_a_task_ended_is_passed_over() -> None:
    async def failing() -> None:
        raise ValueError("nobody asks")

    done, waiting = asyncio.create_task(failing()), asyncio.create_task(asyncio.Event().wait())
    await asyncio.sleep(0)
    await end(done, waiting)
    assert isinstance(done.exception(), ValueError)
    assert waiting.cancelled()
