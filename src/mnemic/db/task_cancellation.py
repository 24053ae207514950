"""Ending tasks for sure.

The driver waits by `asyncio.wait_for`, and that of Python 3.11 swallows a cancellation that comes in the very
moment in which what it waits for happens. A task that goes round in a loop would then go on for ever, and
whoever waits for its end would, too. So tasks are cancelled until they have ended.
"""

import asyncio
from typing import Any

CANCEL_AGAIN_S = 1.0
"""Time for a task to clean up before it is cancelled once more."""


async def end(*tasks: "asyncio.Task[Any]") -> None:
    """Cancel tasks and wait until they have ended; how they ended is nobody's business any more."""
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_AGAIN_S)
    await asyncio.gather(*tasks, return_exceptions=True)
