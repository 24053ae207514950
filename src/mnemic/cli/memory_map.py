"""`mnemic memories map`: the regions of the map of memories."""

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from mnemic.cli.opening import memory_from
from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.types.memory_map import MemoryMap


def show_map(
    make: Annotated[bool, typer.Option("--make", help="Ask a worker to make the map again.")] = False,
    limit: Annotated[int, typer.Option(help="Maximum number of memories, with --json.")] = 1000,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show the regions of the map of memories; with --json, also the positions of memories."""

    async def run() -> MemoryMap:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            if make:
                await memory.memories.make_map()
            return await memory.memories.map(limit=limit)

    found = asyncio.run(run())
    if json:
        print_json(asdict(found))
    else:
        _print_map(found)


def _print_map(found: MemoryMap) -> None:
    if found.job_state is not None:
        print_line(f"The job that makes the map is {found.job_state}. `mnemic worker` runs jobs.")
    if found.made_at is None:
        print_line("There is no map yet. `mnemic memories map --make` asks for one.")
        return
    listing = table("region", "words", "memories")
    for each in found.regions:
        listing.add_row(
            str(each.region), Text(one_line(", ".join(each.words) or "–")), f"{each.memory_count:,}"
        )
    out.print(listing)
    print_line(f"{found.memory_count:,} memories, made {found.made_at:%Y-%m-%d %H:%M} UTC.")
