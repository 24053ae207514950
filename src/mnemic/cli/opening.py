"""Open the memory that a command's options name, and make one call of the SDK."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from mnemic.cli.options import settings_from
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.scope import Scope

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


@asynccontextmanager
async def tenant_memory(
    url: str | None,
    data_dir: Path | None,
    tenant: str | None,
    *,
    owner: str | None = None,
    creates_tenant: bool = False,
) -> AsyncIterator[AsyncMemory]:
    """For commands of administrators: a memory with the given owner, or none. MNEMIC_OWNER is ignored."""
    async with memory_from(url, data_dir, tenant, creates_tenant=creates_tenant) as memory:
        yield memory._in_scope(Scope(owner, memory.channel, memory.process))


def run_call(memory: AsyncMemory, call: Callable[[AsyncMemory], Awaitable[Result]]) -> Result:
    """Open a memory, make a call, and close it again."""

    async def run() -> Result:
        async with memory:
            return await call(memory)

    return asyncio.run(run())
