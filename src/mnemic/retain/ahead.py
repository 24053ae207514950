"""Making things ready while the database is at work on the ones before.

Two thirds of a large call's time pass in the database. What Python has to do meanwhile is done in the same
thread, in short steps: whoever waits for an answer gets it without much delay.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar

from mnemic.db.task_cancellation import cancel_and_wait

# A step of this many items takes well below a millisecond.
STEP_ITEMS = 32

Thing = TypeVar("Thing")


async def in_steps(things: Iterable[Thing]) -> AsyncGenerator[Thing]:
    """The same, with a pause after every few of them that lets others go on."""
    for count, thing in enumerate(things, start=1):
        yield thing
        if count % STEP_ITEMS == 0:
            await asyncio.sleep(0)


@asynccontextmanager
async def made_ahead(things: AsyncGenerator[Thing]) -> AsyncIterator[AsyncIterator[Thing]]:
    """The same, each of them made while the caller waits for something that it does with the one before."""
    following: asyncio.Task[Thing | None] | None = None

    async def next_or_none() -> Thing | None:
        return await anext(things, None)

    async def in_order() -> AsyncGenerator[Thing]:
        nonlocal following
        thing = await next_or_none()
        while thing is not None:
            following = asyncio.create_task(next_or_none())
            yield thing
            thing = await following

    try:
        yield in_order()
    finally:
        if following is not None:
            await cancel_and_wait(following)
        await things.aclose()
