"""`mnemic stats`, `owners`, `erase` and `receipt`: count what a tenant holds, and erase an owner."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, cast

import typer
from rich.text import Text

from mnemic.cli.erasing import check_can_ask, print_row_counts
from mnemic.cli.events_options import shown_moment
from mnemic.cli.opening import memory_from
from mnemic.cli.options import DataDir, Json, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.types.owner_counts import OwnerCounts, OwnerOrder
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
        if name.endswith("_count"):
            listing.add_row(name.removesuffix("_count").replace("_", " "), f"{count:,}")
    out.print(listing)


def owners(
    prefix: Annotated[str, typer.Option(help="Only owners whose names start with this.")] = "",
    order: Annotated[str, typer.Option(help="By name, memories or activity.")] = "name",
    after: Annotated[
        str, typer.Option(help="Continue after this owner, the last of the previous page.")
    ] = "",
    limit: Annotated[int, typer.Option(help="Maximum number to list.")] = 100,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List owners with what each holds, as it was last counted."""

    async def run() -> Sequence[OwnerCounts]:
        wanted = cast("OwnerOrder", order)
        async with memory_from(url, data_dir, tenant) as memory:
            return await memory.admin.owner_counts(prefix=prefix, order=wanted, after=after, limit=limit)

    found = asyncio.run(run())
    if json:
        print_json([asdict(each) for each in found])
        return
    listing = table(
        "owner", "memories", "conversations", "documents", "entities", "bytes", "last activity (UTC)"
    )
    for each in found:
        counted = (
            each.memory_count,
            each.conversation_count,
            each.document_count,
            each.entity_count,
            each.text_bytes,
        )
        shown = [f"{count:,}" for count in counted] if each.counted_at is not None else [""] * len(counted)
        listing.add_row(Text(one_line(each.owner)), *shown, shown_moment(each.last_activity_at))
    out.print(listing)


def receipt(
    receipt_id: Annotated[str, typer.Argument(help="The id of the receipt.")],
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show the receipt of an erasure again, from the audit log."""

    async def run() -> ErasureReceipt:
        async with memory_from(url, data_dir, tenant) as memory:
            return await memory.admin.receipt(receipt_id)

    _print_receipt(asyncio.run(run()), json=json)


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

    _print_receipt(asyncio.run(run()), json=json)


def _print_receipt(receipt: ErasureReceipt, *, json: bool) -> None:
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
