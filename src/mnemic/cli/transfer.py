"""`mnemic export` and `mnemic import`: an owner as a file of JSON lines."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from mnemic.cli.options import DataDir, Embedder, Json, Owner, Replace, TenantName, Url, open_memory
from mnemic.cli.output import out, print_backlog, print_json, table
from mnemic.govern.transfer import Imported


def export(
    path: Annotated[Path, typer.Argument(help="The file to write.")],
    owner: Owner = None,
    replace: Replace = False,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Write all that is held about an owner into a file of JSON lines."""

    async def run() -> dict[str, int]:
        async with open_memory(url, data_dir, tenant, None, owner, None) as memory:
            return await memory.admin.export(path, replace=replace)

    _print_rows(asyncio.run(run()), json=json)


def import_(
    path: Annotated[Path, typer.Argument(help="A file that `mnemic export` wrote.")],
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Take an exported owner in, with ids, history and relations; what is there already stays."""

    async def run() -> Imported:
        async with open_memory(url, data_dir, tenant, embedder, None, None) as memory:
            return await memory.admin.import_(path)

    imported = asyncio.run(run())
    if json:
        print_json(asdict(imported))
        return
    _print_rows(imported.rows, json=False)
    if imported.awaiting_embedding_count:
        print_backlog(imported.awaiting_embedding_count)


def _print_rows(rows: dict[str, int], *, json: bool) -> None:
    if json:
        print_json({"rows": rows})
        return
    listing = table("table", "rows")
    for name, count in rows.items():
        if count:
            listing.add_row(name, f"{count:,}")
    out.print(listing)
