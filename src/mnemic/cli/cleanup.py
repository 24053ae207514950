"""`mnemic cleanup`: memories that could be archived. Nothing changes unless `--yes` is given."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from mnemic.cli.opening import memory_from
from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_diff, print_json, remark, table
from mnemic.types.cleanup import (
    SALIENCE_BELOW,
    UNUSED_DAYS,
    CleanupCount,
    CleanupKind,
    CleanupPage,
    CleanupRun,
)

app = typer.Typer(
    no_args_is_help=True,
    help="Memories that could be archived: stale, expired, never recalled, or with dead links.",
)

Kind = Annotated[CleanupKind, typer.Argument(help="stale, expired, never_recalled or dead_links.")]
UnusedDays = Annotated[
    int, typer.Option(help="How long a memory must be unused, for stale and never_recalled.")
]
SalienceBelow = Annotated[float, typer.Option(help="The salience below which a memory can be stale.")]


@app.command("counts")
def counts(
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Count again, which reads all memories.")
    ] = False,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show how many memories each kind finds, and when they were counted."""

    async def run() -> Sequence[CleanupCount]:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.cleanup.counts(refresh=refresh)

    found = asyncio.run(run())
    if json:
        print_json([asdict(each) for each in found])
        return
    if not found:
        remark("Nothing was counted yet. The daily cleanup counts; --refresh counts now.")
        return
    listing = table("kind", "memories", "counted")
    for each in found:
        more = "" if each.is_complete else "+"
        listing.add_row(each.kind, f"{each.memory_count:,}{more}", f"{each.counted_at:%Y-%m-%d %H:%M}")
    out.print(listing)


@app.command("list")
def list_candidates(
    kind: Kind,
    unused_days: UnusedDays = UNUSED_DAYS,
    salience_below: SalienceBelow = SALIENCE_BELOW,
    after: Annotated[str | None, typer.Option(help="Continue a list: what its last line says.")] = None,
    limit: Annotated[int, typer.Option(help="Maximum number to list.")] = 100,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List memories that could be archived, with the reason."""

    async def run() -> CleanupPage:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.cleanup.list(
                kind, unused_days=unused_days, salience_below=salience_below, after=after, limit=limit
            )

    page = asyncio.run(run())
    if json:
        print_json(asdict(page))
        return
    listing = table("id", "category", "salience", "memory", "reason", empty="No memories of this kind.")
    for each in page.candidates:
        memory = each.memory
        content = Text(one_line(memory.content))
        listing.add_row(
            str(memory.memory_id), memory.category, f"{memory.salience:.2f}", content, each.reason
        )
    out.print(listing)
    if page.next_after is not None:
        remark(f"More follow: --after {page.next_after}")


@app.command("archive")
def archive(
    kind: Kind,
    memory_id: Annotated[
        list[str] | None, typer.Option("--memory", help="Only this memory; may be repeated. Default: all.")
    ] = None,
    unused_days: UnusedDays = UNUSED_DAYS,
    salience_below: SalienceBelow = SALIENCE_BELOW,
    yes: Annotated[bool, typer.Option("--yes", help="Do it. Default: only show the changes.")] = False,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Archive memories of a kind, at most 1,000, as one changeset. Without `--yes` it only shows them."""

    async def run() -> CleanupRun:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.cleanup.archive(
                kind,
                memory_ids=memory_id,
                unused_days=unused_days,
                salience_below=salience_below,
                dry_run=not yes,
            )

    done = asyncio.run(run())
    if json:
        print_json(asdict(done))
        return
    print_diff(done.text)
    for each in done.left_out:
        remark(f"Left out, because it does not qualify: {each}")
    if done.is_dry_run:
        remark(f"This was a dry run of {done.change_count:,} changes. `--yes` does it.")
    elif done.changeset_id is not None:
        remark(f"`mnemic curate undo {done.changeset_id} --yes` takes it back.")
    if not done.is_complete:
        remark("More memories qualify: run it again.")
