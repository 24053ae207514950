"""`mnemic channels`: list channels; fork one, merge the branch or drop it."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, cast

import typer
from rich.text import Text

from mnemic.cli.erasing import check_can_ask, print_row_counts
from mnemic.cli.opening import memory_from
from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.errors import InvalidInputError
from mnemic.types.branch import MERGE_CHOICES, BranchReceipt, Channel, Merge, MergeChoice
from mnemic.types.scope import GLOBAL_CHANNEL

app = typer.Typer(no_args_is_help=True, help="List channels; fork one, merge the branch or drop it.")

Branch = Annotated[str, typer.Argument(help="The name of the branch.")]


@app.command("list")
def list_channels(
    owner: Owner = None,
    after: Annotated[
        str | None, typer.Option(help="Continue after this name, the last of the previous page.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Maximum number to list.")] = 100,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List the channels that have memories, and branches, by name."""

    async def run() -> Sequence[Channel]:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.channels.list(after=after, limit=limit)

    channels = asyncio.run(run())
    if json:
        print_json([asdict(each) for each in channels])
        return
    listing = table("channel", "memories", "parent", "forked", "state", empty="No channels.")
    for each in channels:
        forked = f"{each.forked_at:%Y-%m-%d %H:%M}" if each.forked_at is not None else ""
        names = (Text(one_line(each.channel)), f"{each.memory_count:,}", Text(one_line(each.parent or "")))
        listing.add_row(*names, forked, each.state or "")
    out.print(listing)


@app.command("fork")
def fork(
    channel: Annotated[str, typer.Argument(help="The name of the new branch.")],
    parent: Annotated[str, typer.Option(help="The channel to fork.")] = GLOBAL_CHANNEL,
    reason: Annotated[str | None, typer.Option(help="What the branch is for.")] = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Create a branch: a channel that reads its parent as it is now, and changes nothing there."""

    async def run() -> Channel:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.channels.fork(channel, parent=parent, reason=reason)

    forked = asyncio.run(run())
    if json:
        print_json(asdict(forked))
    else:
        print_line(f"Forked: {one_line(parent)} → {one_line(forked.channel)}")


@app.command("merge")
def merge(
    channel: Branch,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what merging would do.")] = False,
    choice: Annotated[
        list[str] | None,
        typer.Option(help="Decide a conflict: its id, then =branch, =parent or =both; may be repeated."),
    ] = None,
    otherwise: Annotated[
        MergeChoice | None, typer.Option(help="Decide all other conflicts: branch, parent or both.")
    ] = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Merge a branch into its parent, in one transaction that can be undone."""
    choices = dict(_parse_choice(each) for each in choice or ())

    async def run() -> Merge:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.channels.merge(channel, dry_run=dry_run, choices=choices, otherwise=otherwise)

    merged = asyncio.run(run())
    if json:
        print_json(asdict(merged))
    else:
        _print_merge(merged)


@app.command("drop")
def drop(
    channel: Branch,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Delete a branch and everything that was stored in it, permanently."""
    if not yes:
        check_can_ask(json=json)
        typer.confirm(f"Delete the branch {one_line(channel)} and everything in it permanently?", abort=True)

    async def run() -> BranchReceipt:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.channels.drop(channel)

    receipt = asyncio.run(run())
    if json:
        print_json(asdict(receipt))
    else:
        print_line(f"Dropped: {receipt.row_count:,} rows (receipt {receipt.receipt_id})")
        print_row_counts(receipt.rows)


def _parse_choice(written: str) -> tuple[str, MergeChoice]:
    conflict_id, separator, choice = written.rpartition("=")
    if not separator or choice not in MERGE_CHOICES:
        raise InvalidInputError(
            f"--choice must be an id of a conflict and one of ={', ='.join(MERGE_CHOICES)}."
        )
    return conflict_id, cast(MergeChoice, choice)


def _print_merge(merged: Merge) -> None:
    """A line per change, then a line per conflict."""
    changes = table("change", "memory", "text")
    for change in merged.changes:
        changes.add_row(change.kind, str(change.memory_id), Text(one_line(change.content)))
    out.print(changes)
    if merged.conflicts:
        conflicts = table("conflict", "choice", "branch", "parent")
        for conflict in merged.conflicts:
            texts = (conflict.branch_content or "", conflict.parent_content)
            conflicts.add_row(
                conflict.conflict_id, conflict.choice or "?", *(Text(one_line(text)) for text in texts)
            )
        out.print(conflicts)
    where = f"{one_line(merged.channel)} → {one_line(merged.parent)}"
    if merged.dry_run:
        print_line(f"Dry run: {where}, nothing was changed.")
    else:
        print_line(f"Merged: {where} (changeset {merged.changeset_id})")
