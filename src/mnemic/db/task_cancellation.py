"""Cancel tasks reliably.

psycopg waits with `asyncio.wait_for`, and Python 3.11's version swallows a cancellation that arrives at the
moment its awaitable completes. A looping task would then run for ever, and so would the caller that waits for
it. So tasks are cancelled repeatedly until they have ended.
"""

import asyncio
from typing import Any

CANCEL_AGAIN_S = 1.0
"""Time for a task to clean up before it is cancelled once more."""


async def cancel_and_wait(*tasks: "asyncio.Task[Any]") -> None:
    """Cancel tasks and wait until they have ended. Their results and exceptions are discarded."""
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_AGAIN_S)
    await asyncio.gather(*tasks, return_exceptions=True)
