"""`mnemic stats` and `mnemic erase`: count what a tenant holds, and erase an owner."""

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer

from mnemic.cli.erasing import check_can_ask, print_row_counts
from mnemic.cli.opening import memory_from
from mnemic.cli.options import DataDir, Json, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.types.receipt import ErasureReceipt
from mnemic.types.stats import TenantStats


def stats(url: Url = None, data_dir: DataDir = None, tenant: TenantName = None, json: Json = False) -> None:
    """Count what the tenant holds."""

    async def run() -> TenantStats:
        async with memory_from(url, data_dir, tenant) as memory:
            return await memory.admin.stats()

    counts = asdict(asyncio.run(run()))
    if json:
        print_json(counts)
        return
    listing = table("what", "count")
    for name, count in counts.items():
        listing.add_row(name.removesuffix("_count").replace("_", " "), f"{count:,}")
    out.print(listing)


def erase(
    owner: Annotated[str, typer.Option(help="The owner to erase. MNEMIC_OWNER is ignored here.")],
    archive: Annotated[
        bool, typer.Option("--archive", help="Only take the memories out of recall; nothing is deleted.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Erase an owner for good: every memory and every trace. Prints a receipt."""
    _ask(owner, archive=archive, yes=yes, json=json)

    async def run() -> ErasureReceipt:
        async with memory_from(url, data_dir, tenant) as memory:
            return await memory.admin.erase(owner, mode="archive" if archive else "erase")

    receipt = asyncio.run(run())
    if json:
        print_json(asdict(receipt))
        return
    print_row_counts(receipt.rows)
    print_line(f"Receipt {receipt.receipt_id}: {receipt.row_count:,} rows.")


def _ask(owner: str, *, archive: bool, yes: bool, json: bool) -> None:
    """Ask for confirmation."""
    if yes:
        return
    check_can_ask(json=json)
    what = (
        "Take all memories of {} out of recall?" if archive else "Erase all that is held about {}, for good?"
    )
    typer.confirm(what.format(repr(one_line(owner))), abort=True, err=True)
