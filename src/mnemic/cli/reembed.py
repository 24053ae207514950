"""`mnemic reembed`: change the embedding model of a tenant, without downtime."""

import asyncio
from dataclasses import asdict

from mnemic.cli.job_progress import follow_job
from mnemic.cli.opening import memory_from
from mnemic.cli.options import DataDir, Embedder, Json, TenantName, Url
from mnemic.cli.output import print_json, print_line
from mnemic.types.embedding import ModelChange


def reembed(
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Re-embed everything with the configured embedder, then switch to it. Can be interrupted and resumed."""
    # This command waits for its job, so it works on it, also where no other worker runs.
    opened = memory_from(url, data_dir, tenant, embedder=embedder, worker=True)

    async def run() -> ModelChange:
        async with opened as memory:
            change = await memory.admin.reembed()
            if change.job_id is not None:
                await follow_job(memory, change.job_id, "embedding", quiet=json)
                change = await memory.admin.reembed()
            return change

    change = asyncio.run(run())
    if json:
        print_json(asdict(change))
    else:
        print_line(f"{change.model} serves.")
