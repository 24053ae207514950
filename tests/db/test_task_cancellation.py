"""Cancelling tasks, even if one swallows a cancellation."""

import asyncio

import pytest

from mnemic.db import task_cancellation
from mnemic.db.task_cancellation import cancel_and_wait


async def test_a_task_that_swallows_a_cancellation_is_cancelled_again(
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

    monkeypatch.setattr(task_cancellation, "CANCEL_AGAIN_S", 0.01)
    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    await asyncio.wait_for(cancel_and_wait(task), timeout=60)
    assert task.done()
    assert cancellations == 2


async def test_exceptions_of_tasks_are_discarded() -> None:
    async def failing() -> None:
        raise ValueError("discarded")

    done, waiting = asyncio.create_task(failing()), asyncio.create_task(asyncio.Event().wait())
    await asyncio.sleep(0)
    await cancel_and_wait(done, waiting)
    assert isinstance(done.exception(), ValueError)
    assert waiting.cancelled()
