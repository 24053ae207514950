"""Tasks that run beside a block and end with it.

Unlike `asyncio.TaskGroup`, the scope raises a task's exception where the block awaits the task, as it is and
not in a group, and costs no extra turn of the event loop when the block has awaited everything.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")


class StartTask(Protocol):
    """Starts a coroutine as a task of the scope."""

    def __call__(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]: ...


@asynccontextmanager
async def task_scope() -> AsyncIterator[StartTask]:
    """Give the block a function that starts tasks; cancel the tasks that still run when the block ends."""
    tasks: list[asyncio.Task[Any]] = []

    def start(work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        task = asyncio.create_task(work)
        tasks.append(task)
        return task

    try:
        yield start
    except BaseException:
        # All of them, so that the exception of a finished task counts as retrieved.
        await _cancel(tasks)
        raise
    await _cancel([task for task in tasks if not task.done()])


async def _cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.gather(*tasks, return_exceptions=True)
