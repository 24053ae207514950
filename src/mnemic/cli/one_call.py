"""One call of the SDK, as a command makes it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from mnemic.cli.options import settings_from
from mnemic.sdk.memory import AsyncMemory

Result = TypeVar("Result")


def idle_memory(
    url: str | None, data_dir: Path | None, tenant: str | None, owner: str | None = None
) -> AsyncMemory:
    """The memory that a command's options name, which leaves jobs to others; to be opened by `async with`."""
    settings = settings_from(url, data_dir, tenant).model_copy(update={"worker": False})
    return AsyncMemory(settings=settings, owner=owner, process="cli")


def call_once(memory: AsyncMemory, call: Callable[[AsyncMemory], Awaitable[Result]]) -> Result:
    """Open a memory, make a call, and close it again."""

    async def opened() -> Result:
        async with memory:
            return await call(memory)

    return asyncio.run(opened())
