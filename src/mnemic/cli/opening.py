"""Open the memory that a command's options name, and make one call of the SDK."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from mnemic.cli.options import settings_from
from mnemic.sdk.memory import AsyncMemory

Result = TypeVar("Result")


def memory_from(
    url: str | None,
    data_dir: Path | None,
    tenant: str | None,
    *,
    owner: str | None = None,
    channel: str | None = None,
    embedder: str | None = None,
    worker: bool | None = None,
    creates_tenant: bool = False,
) -> AsyncMemory:
    """The memory that a command's options name, to be opened by `async with`.

    `worker` says whether it works on jobs itself; None leaves that to the settings. An unknown tenant is an
    error unless the command `creates_tenant`: one that reads, or changes what exists, must not.
    """
    settings = settings_from(url, data_dir, tenant)
    update: dict[str, object] = {} if worker is None else {"worker": worker}
    if not creates_tenant:
        update["create_tenant"] = False
    return AsyncMemory(
        settings=settings.model_copy(update=update),
        embedder=embedder,
        owner=owner,
        channel=channel,
        process="cli",
    )


def run_call(memory: AsyncMemory, call: Callable[[AsyncMemory], Awaitable[Result]]) -> Result:
    """Open a memory, make a call, and close it again."""

    async def run() -> Result:
        async with memory:
            return await call(memory)

    return asyncio.run(run())
