"""`mnemic curate waiting`, `pairs`, `resolve` and `reopen`: what waits for a decision of a person."""

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from mnemic.cli.opening import memory_from
from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, remark, table
from mnemic.types.review import Resolution, ReviewDecision, ReviewKind, ReviewPage, Waiting

Kind = Annotated[ReviewKind, typer.Argument(help="near_duplicate, contradiction or quarantine.")]
MemoryId = Annotated[str, typer.Argument(help="The newer memory of the pair, or the one in quarantine.")]


def waiting(
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show how much waits for a decision; each count stops at 200."""

    async def run() -> Waiting:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.curation.waiting()

    counts = asdict(asyncio.run(run()))
    if json:
        print_json(counts)
        return
    for name, count in counts.items():
        print_line(f"{name.removesuffix('_count').replace('_', ' ')}: {count}")


def pairs(
    kind: Kind,
    before: Annotated[str | None, typer.Option(help="Continue a list: what its last line says.")] = None,
    limit: Annotated[int, typer.Option(help="Maximum number to list.")] = 50,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List pairs of memories that wait for a decision, newest first, the newer memory first."""

    async def run() -> ReviewPage:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.curation.pairs(kind, before=before, limit=limit)

    page = asyncio.run(run())
    if json:
        print_json(asdict(page))
        return
    listing = table("newer", "older")
    for pair in page.pairs:
        shown = [
            Text(f"{each.memory_id}\n{one_line(each.content)}") if each is not None else Text("none")
            for each in (pair.memory, pair.other)
        ]
        listing.add_row(*shown)
    out.print(listing)
    if page.uncompared_count:
        remark(f"{page.uncompared_count} memories were not compared yet; the daily cleanup does it.")
    if page.next_before is not None:
        remark(f"More follow: --before {page.next_before}")


def resolve(
    kind: Kind,
    memory_id: MemoryId,
    decision: Annotated[ReviewDecision, typer.Argument(help="keep_new, keep_old or keep_both.")],
    other_id: Annotated[str | None, typer.Argument(help="The other memory of the pair.")] = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Decide about a pair: keep the new memory, the old one, or both."""

    async def run() -> Resolution:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.curation.resolve(kind, memory_id, other_id, decision=decision)

    done = asyncio.run(run())
    if json:
        print_json(asdict(done))
    elif done.changeset_id is not None:
        print_line(f"Decided. `mnemic curate undo {done.changeset_id} --yes` takes it back.")
    else:
        print_line(f"Decided. `mnemic curate reopen {kind} {memory_id} {other_id}` takes it back.")


def reopen(
    kind: Kind,
    memory_id: MemoryId,
    other_id: Annotated[str, typer.Argument(help="The other memory of the pair.")],
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Let a pair wait for a decision again that was decided by keeping both."""

    async def run() -> None:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            await memory.curation.reopen(kind, memory_id, other_id)

    asyncio.run(run())
    if json:
        print_json({"kind": kind, "memory_id": memory_id, "other_id": other_id})
        return
    print_line("The pair waits for a decision again.")
