"""`mnemic memories`: look at single memories, at their history, and forget them."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, cast

import typer
from rich.text import Text

from mnemic.cli.options import Channel, DataDir, Json, Owner, TenantName, Url, open_memory
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.types.memory import CATEGORIES, STATUSES, Category, MemoryRecord, Status

app = typer.Typer(no_args_is_help=True, help="Single memories: list, look at, forget, and their history.")

MemoryId = Annotated[str, typer.Argument(help="The id of the memory, from `mnemic memories list`.")]
# Typer knows no lists of choices: these are checked by the call itself, which lists what is allowed.
Categories = Annotated[
    list[str] | None,
    typer.Option("--category", help=f"Only of this category; may be repeated: {', '.join(CATEGORIES)}."),
]
Statuses = Annotated[
    list[str] | None,
    typer.Option("--status", help=f"With this status; active unless given: {', '.join(STATUSES)}."),
]


@app.command("list")
def list_memories(
    owner: Owner = None,
    channel: Channel = None,
    category: Categories = None,
    status: Statuses = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only with this tag; repeated: with all.")
    ] = None,
    conversation: Annotated[str | None, typer.Option(help="Only from this conversation.")] = None,
    forgotten: Annotated[bool, typer.Option("--forgotten", help="Also what was forgotten.")] = False,
    before: Annotated[str | None, typer.Option(help="The last id of the page before.")] = None,
    limit: Annotated[int, typer.Option(help="How many at most.")] = 20,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List memories, newest first."""

    async def run() -> Sequence[MemoryRecord]:
        async with open_memory(url, data_dir, tenant, None, owner, None) as memory:
            return await memory.memories.list(
                channel=channel,
                categories=cast(list[Category] | None, category),
                statuses=cast(list[Status], status or ["active"]),
                tags=tag or (),
                conversation=conversation,
                include_forgotten=forgotten,
                before=before,
                limit=limit,
            )

    records = asyncio.run(run())
    if json:
        print_json([asdict(record) for record in records])
    else:
        _print_table(records)


@app.command("get")
def get_memory(
    memory_id: MemoryId,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show all that is known about a memory."""

    async def run() -> MemoryRecord:
        async with open_memory(url, data_dir, tenant, None, owner, None) as memory:
            return await memory.memories.get(memory_id)

    record = asyncio.run(run())
    if json:
        print_json(asdict(record))
    else:
        _print_record(record)


@app.command("forget")
def forget(
    memory_id: MemoryId,
    reason: Annotated[str | None, typer.Option(help="Why; it is kept in the history.")] = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Stop recalling a memory. `mnemic memories restore` brings it back."""

    async def run() -> MemoryRecord:
        async with open_memory(url, data_dir, tenant, None, owner, None) as memory:
            return await memory.memories.forget(memory_id, reason=reason)

    _print_changed("Forgotten", asyncio.run(run()), json=json)


@app.command("restore")
def restore(
    memory_id: MemoryId,
    reason: Annotated[str | None, typer.Option(help="Why; it is kept in the history.")] = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Bring a forgotten, archived or superseded memory back."""

    async def run() -> MemoryRecord:
        async with open_memory(url, data_dir, tenant, None, owner, None) as memory:
            return await memory.memories.restore(memory_id, reason=reason)

    _print_changed("Restored", asyncio.run(run()), json=json)


@app.command("history")
def history(
    memory_id: MemoryId,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show every version of a memory, the first one first."""

    async def run() -> Sequence[MemoryRecord]:
        async with open_memory(url, data_dir, tenant, None, owner, None) as memory:
            return await memory.memories.history(memory_id)

    versions = asyncio.run(run())
    if json:
        print_json([asdict(version) for version in versions])
    else:
        _print_history(versions)


def _print_table(records: Sequence[MemoryRecord]) -> None:
    listing = table("id", "when", "category", "content")
    for record in records:
        when = f"{record.at or record.created_at:%Y-%m-%d}"
        listing.add_row(str(record.memory_id), when, record.category, Text(one_line(record.content)))
    out.print(listing)


def _print_record(record: MemoryRecord) -> None:
    listing = table("field", "value")
    for name, value in asdict(record).items():
        if value not in (None, (), {}):
            listing.add_row(name, Text(one_line(str(value))))
    out.print(listing)


def _print_changed(what: str, record: MemoryRecord, *, json: bool) -> None:
    if json:
        print_json(asdict(record))
    else:
        print_line(f"{what}: {one_line(record.content)}")


def _print_history(versions: Sequence[MemoryRecord]) -> None:
    listing = table("version", "recorded", "by", "why", "state", "content")
    for version in versions:
        state = "forgotten" if version.deleted_at is not None else version.status
        why = Text(one_line(version.change_reason or ""))
        recorded = f"{version.recorded_at:%Y-%m-%d %H:%M}"
        listing.add_row(
            str(version.version), recorded, version.changed_by, why, state, Text(one_line(version.content))
        )
    out.print(listing)
