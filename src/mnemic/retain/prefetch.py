"""Prepare the next batch while the database works on the current one.

The database takes two thirds of the time of a large call. Python uses it to build the next batch, in the same
thread and in short steps, so that other tasks of the event loop are not delayed.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar

from mnemic.db.task_cancellation import cancel_and_wait

# A step of this many items takes well below a millisecond.
STEP_ITEMS = 32

Value = TypeVar("Value")


async def in_steps(values: Iterable[Value]) -> AsyncGenerator[Value]:
    """Yield the values; let other tasks run after every `STEP_ITEMS` of them."""
    for count, value in enumerate(values, start=1):
        yield value
        if count % STEP_ITEMS == 0:
            await asyncio.sleep(0)


@asynccontextmanager
async def prefetched(values: AsyncGenerator[Value]) -> AsyncIterator[AsyncIterator[Value]]:
    """Iterate over `values`; compute the next one while the caller awaits something with the current one."""
    following: asyncio.Task[Value | None] | None = None

    async def next_or_none() -> Value | None:
        return await anext(values, None)

    async def in_order() -> AsyncGenerator[Value]:
        nonlocal following
        value = await next_or_none()
        while value is not None:
            following = asyncio.create_task(next_or_none())
            yield value
            value = await following

    try:
        yield in_order()
    finally:
        if following is not None:
            await cancel_and_wait(following)
        await values.aclose()
