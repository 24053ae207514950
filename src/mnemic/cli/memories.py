"""`mnemic memories`: list, show, change and forget single memories, and show their history."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.text import Text

from mnemic.cli.memory_list import list_memories
from mnemic.cli.opening import memory_from, run_call
from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.errors import InvalidInputError
from mnemic.types.memory import Category, MemoryRecord
from mnemic.types.why import Why

app = typer.Typer(no_args_is_help=True, help="List, show, change and forget single memories.")

MemoryId = Annotated[str, typer.Argument(help="The id of the memory, from `mnemic memories list`.")]
InBranch = Annotated[
    str | None, typer.Option("--channel", help="Change it in this branch only; see `mnemic channels`.")
]

app.command("list")(list_memories)


@app.command("get")
def get_memory(
    memory_id: MemoryId,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show all fields of a memory."""

    async def run() -> MemoryRecord:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.memories.get(memory_id)

    record = asyncio.run(run())
    if json:
        print_json(asdict(record))
    else:
        _print_record(record)


@app.command("update")
def update(
    memory_id: MemoryId,
    content: Annotated[str | None, typer.Option(help="The new text.")] = None,
    category: Annotated[Category | None, typer.Option(help="The new category.")] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", help="A new tag, instead of all old ones; may be repeated."),
    ] = None,
    confidence: Annotated[float | None, typer.Option(help="Confidence, 0 to 1.")] = None,
    anchored: Annotated[
        bool | None, typer.Option("--anchored/--not-anchored", help="Whether cleanup must never archive it.")
    ] = None,
    at: Annotated[str | None, typer.Option(help="When it happened: a date, or a date and time.")] = None,
    valid_from: Annotated[
        str | None, typer.Option(help="Start of its validity: a date, or a date and time.")
    ] = None,
    valid_to: Annotated[str | None, typer.Option(help="End of its validity.")] = None,
    expires_at: Annotated[str | None, typer.Option(help="When it expires and is archived.")] = None,
    reason: Annotated[str | None, typer.Option(help="Reason for the history.")] = None,
    owner: Owner = None,
    channel: InBranch = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Change fields of a memory; the history keeps the old ones. To correct a fact, use supersede."""
    changes: dict[str, Any] = {
        "content": content,
        "category": category,
        "tags": tag,
        "confidence": confidence,
        "anchored": anchored,
        "at": at,
        "valid_from": valid_from,
        "valid_to": valid_to,
        "expires_at": expires_at,
    }
    if all(value is None for value in changes.values()):
        raise InvalidInputError("Nothing to change: give at least one option, such as --content TEXT.")
    updated = run_call(
        memory_from(url, data_dir, tenant, owner=owner),
        lambda memory: memory.memories.update(memory_id, reason=reason, channel=channel, **changes),
    )
    _print_changed("Updated", updated, json=json)


@app.command("supersede")
def supersede(
    memory_id: MemoryId,
    content: Annotated[str, typer.Argument(help="The new text.")],
    valid_from: Annotated[
        str | None, typer.Option(help="Start of its validity: a date, or a date and time. Default: now.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Reason for the history.")] = None,
    owner: Owner = None,
    channel: InBranch = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Replace a memory by a new one. The old one is no longer recalled, but stays in the record."""
    new = run_call(
        memory_from(url, data_dir, tenant, owner=owner),
        lambda memory: memory.memories.supersede(
            memory_id, content, valid_from=valid_from, reason=reason, channel=channel
        ),
    )
    if json:
        print_json(asdict(new))
    else:
        print_line(f"Superseded {memory_id} by {new.memory_id}: {one_line(new.content)}")


@app.command("forget")
def forget(
    memory_id: MemoryId,
    reason: Annotated[str | None, typer.Option(help="Reason for the history.")] = None,
    owner: Owner = None,
    channel: InBranch = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Forget a memory: recall ignores it. `mnemic memories restore` brings it back."""

    async def run() -> MemoryRecord:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.memories.forget(memory_id, reason=reason, channel=channel)

    _print_changed("Forgotten", asyncio.run(run()), json=json)


@app.command("restore")
def restore(
    memory_id: MemoryId,
    reason: Annotated[str | None, typer.Option(help="Reason for the history.")] = None,
    owner: Owner = None,
    channel: InBranch = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Restore a forgotten, archived or superseded memory."""

    async def run() -> MemoryRecord:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.memories.restore(memory_id, reason=reason, channel=channel)

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
    """Show every version of a memory, oldest first."""

    async def run() -> Sequence[MemoryRecord]:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.memories.history(memory_id)

    versions = asyncio.run(run())
    if json:
        print_json([asdict(version) for version in versions])
    else:
        _print_history(versions)


@app.command("why")
def why(
    memory_id: MemoryId,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show why a memory is believed: the turns that it rests on, and what it replaced."""

    async def run() -> Why:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.memories.why(memory_id)

    found = asyncio.run(run())
    if json:
        print_json(asdict(found))
    else:
        print_line(found.text)


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
