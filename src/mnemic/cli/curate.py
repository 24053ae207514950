"""`mnemic curate`: proposals of the curator, and undo for everything that Mnemic changed by itself.

Commands that change memories show what they would do, unless `--yes` is given.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import Annotated, cast

import typer
from rich.text import Text

from mnemic.cli.opening import memory_from
from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_diff, print_json, print_line, remark, table
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.changeset import Changeset, ChangesetPurpose, ChangesetState
from mnemic.types.curation import CURATION_KINDS, ChangesetDiff, CurationKind, CurationRun

app = typer.Typer(
    no_args_is_help=True, help="Proposals of the curator; undo for everything that Mnemic changed by itself."
)

ChangesetId = Annotated[str, typer.Argument(help="The id of the changeset, from `mnemic curate list`.")]
ChangeIds = Annotated[
    list[str] | None,
    typer.Option("--change", help="Only this change, by its id; may be repeated. Default: all."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help=f"Only this kind; may be repeated. One of: {', '.join(CURATION_KINDS)}."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do it. Default: only show the changes.")]


@app.command("propose")
def propose(
    stage: Annotated[
        bool, typer.Option("--stage", help="Stage the proposals. Default: a dry run that only shows them.")
    ] = False,
    kind: Kinds = None,
    limit: Annotated[int, typer.Option(help="Maximum number of proposals.")] = 200,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Propose what to promote, archive, prune, merge or supersede. Nothing changes until it is applied."""

    async def run() -> CurationRun:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.curation.propose(
                kinds=cast(list[CurationKind] | None, kind), limit=limit, dry_run=not stage
            )

    done = asyncio.run(run())
    if json:
        print_json(asdict(done))
        return
    print_diff(done.text)
    counts = ", ".join(f"{count} {name}" for name, count in sorted(done.counts.items()))
    remark(f"Memories read: {done.read_count:,} ({counts or 'none'}).")
    if done.is_dry_run and done.changes:
        remark("This was a dry run. `mnemic curate propose --stage` stages the proposals.")


@app.command("list")
def list_changesets(
    state: Annotated[ChangesetState | None, typer.Option(help="Only changesets in this state.")] = None,
    purpose: Annotated[ChangesetPurpose | None, typer.Option(help="Only changesets of this purpose.")] = None,
    before: Annotated[
        str | None, typer.Option(help="Continue after this id, the last of the previous page.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Maximum number to list.")] = 100,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List changesets, newest first: proposals, and what Mnemic changed by itself."""

    async def run() -> Sequence[Changeset]:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.curation.list(state=state, purpose=purpose, before=before, limit=limit)

    found = asyncio.run(run())
    if json:
        print_json([asdict(each) for each in found])
        return
    listing = table("id", "purpose", "state", "changes", "when", "reason", empty="No changesets.")
    for each in found:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(each.change_counts.items()))
        when = f"{each.created_at:%Y-%m-%d %H:%M}"
        listing.add_row(
            str(each.changeset_id), each.purpose, each.state, counts, when, Text(one_line(each.reason))
        )
    out.print(listing)


@app.command("show")
def show(
    changeset_id: ChangesetId,
    after: Annotated[int | None, typer.Option(help="Continue after this position.")] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of changes to show.")] = 100,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show the changes of a changeset as a diff, with their reasons."""

    async def run() -> ChangesetDiff:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.curation.diff(changeset_id, after=after, limit=limit)

    diff = asyncio.run(run())
    if json:
        print_json(asdict(diff))
    else:
        print_diff(diff.text)


@app.command("approve")
def approve(
    changeset_id: ChangesetId,
    change: ChangeIds = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Approve staged changes, all or some; `mnemic curate apply` then applies them."""

    async def run() -> Changeset:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.curation.approve(changeset_id, change_ids=change)

    _print_decided("Approved", asyncio.run(run()), json=json)


@app.command("reject")
def reject(
    changeset_id: ChangesetId,
    change: ChangeIds = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Reject open changes, all or some. They are not proposed again unless their memory changes."""

    async def run() -> Changeset:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.curation.reject(changeset_id, change_ids=change)

    _print_decided("Rejected", asyncio.run(run()), json=json)


@app.command("apply")
def apply(
    changeset_id: ChangesetId,
    change: ChangeIds = None,
    yes: Yes = False,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Apply the approved changes, or those that are named. Without `--yes` it only shows them."""

    async def run() -> ChangesetDiff | Changeset:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await _show_or_do(memory, changeset_id, change, yes, memory.curation.apply)

    _print_act("Applied", "apply", asyncio.run(run()), json=json)


@app.command("undo")
def undo(
    changeset_id: ChangesetId,
    change: ChangeIds = None,
    yes: Yes = False,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Undo the applied changes, all or some. Without `--yes` it only shows them."""

    async def run() -> ChangesetDiff | Changeset:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await _show_or_do(memory, changeset_id, change, yes, memory.curation.undo)

    _print_act("Undone", "undo", asyncio.run(run()), json=json)


@app.command("policy")
def policy(
    kind: Annotated[
        str | None, typer.Argument(help=f"The kind to set: {', '.join(CURATION_KINDS)}. Default: show all.")
    ] = None,
    automatic: Annotated[
        bool, typer.Option("--automatic/--ask", help="Apply proposals of this kind without asking, or ask.")
    ] = False,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show or set which proposals are applied without asking."""

    async def run() -> dict[str, bool]:
        async with memory_from(url, data_dir, tenant, owner=owner, creates_tenant=True) as memory:
            if kind is None:
                return await memory.curation.policies()
            return await memory.curation.set_policy(cast(CurationKind, kind), automatic=automatic)

    policies = asyncio.run(run())
    if json:
        print_json(policies)
        return
    for name, is_automatic in policies.items():
        print_line(f"{name}: {'automatic' if is_automatic else 'ask'}")


async def _show_or_do(
    memory: AsyncMemory,
    changeset_id: str,
    change_ids: Sequence[str] | None,
    yes: bool,
    act: Callable[..., Awaitable[Changeset]],
) -> ChangesetDiff | Changeset:
    if yes:
        return await act(changeset_id, change_ids=change_ids)
    return await memory.curation.diff(changeset_id)


def _print_act(done: str, verb: str, result: ChangesetDiff | Changeset, *, json: bool) -> None:
    if isinstance(result, Changeset):
        _print_decided(done, result, json=json)
    elif json:
        print_json(asdict(result))
    else:
        print_diff(result.text)
        remark(f"Nothing was changed. `mnemic curate {verb} … --yes` does it.")


def _print_decided(done: str, changeset: Changeset, *, json: bool) -> None:
    if json:
        print_json(asdict(changeset))
        return
    counts = ", ".join(f"{count} {name}" for name, count in sorted(changeset.change_counts.items()))
    print_line(f"{done}: changeset {changeset.changeset_id} is {changeset.state} ({counts}).")
