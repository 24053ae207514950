"""`mnemic reembed`: change the embedding model of a tenant while everything goes on."""

import asyncio
from dataclasses import asdict

from mnemic.cli.follow import follow
from mnemic.cli.options import DataDir, Embedder, Json, TenantName, Url, settings_from
from mnemic.cli.output import print_json, print_line
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.embedding import ModelChange


def reembed(
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Embed everything anew by the configured embedder, then let it serve. Killed, it can go on later."""
    # Whoever waits for a job works on it, too, whatever the place.
    settings = settings_from(url, data_dir, tenant).model_copy(update={"worker": True})
    opened = AsyncMemory(settings=settings, embedder=embedder, process="cli")

    async def run() -> ModelChange:
        async with opened as memory:
            change = await memory.admin.reembed()
            if change.job_id is not None:
                await follow(memory, change.job_id, "embedding", quiet=json)
                change = await memory.admin.reembed()
            return change

    change = asyncio.run(run())
    if json:
        print_json(asdict(change))
    else:
        print_line(f"{change.model} serves.")
