"""`mnemic embed`: embed memories whose embedding failed."""

import asyncio

from mnemic.cli.opening import memory_from
from mnemic.cli.options import DataDir, Embedder, Json, TenantName, Url
from mnemic.cli.output import out, print_json


def embed(
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Embed the memories that were stored while the embedder failed."""

    async def run() -> int:
        async with memory_from(url, data_dir, tenant, embedder=embedder) as memory:
            return await memory.admin.embed_backlog()

    embedded_count = asyncio.run(run())
    if json:
        print_json({"embedded_count": embedded_count})
    else:
        out.print(f"Embedded {embedded_count:,} memories.")
