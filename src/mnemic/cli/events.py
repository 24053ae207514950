"""`mnemic events`: list and follow events, and list their consumers."""

import asyncio
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, cast

import typer
from rich.text import Text

from mnemic.cli.events_options import Limit, Types, as_start, shown_moment, shown_types
from mnemic.cli.opening import memory_from, run_call
from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_json_line, print_line, table
from mnemic.events.consumers import Start
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.event import Event, EventConsumer, EventType

app = typer.Typer(no_args_is_help=True, help="List and follow events, and list their consumers.")


@app.command("list")
def list_events(
    after: Annotated[int | None, typer.Option(help="Only events after this position.")] = None,
    before: Annotated[int | None, typer.Option(help="Only events before this position.")] = None,
    newest: Annotated[bool, typer.Option("--newest", help="Newest first.")] = False,
    type: Types = None,
    limit: Limit = 100,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List events, oldest first unless --newest is given."""
    types = cast("list[EventType] | None", type)
    events = run_call(
        memory_from(url, data_dir, tenant, owner=owner, worker=False),
        lambda memory: memory.events.list(
            after=after, before=before, order="newest" if newest else "oldest", limit=limit, types=types
        ),
    )
    if json:
        print_json([asdict(event) for event in events])
    else:
        _print_events(events)


@app.command("follow")
def follow(
    start: Annotated[
        str, typer.Option("--from", help="Where to start: now, beginning, or after a position.")
    ] = "now",
    type: Types = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Print each event as it happens, one per line, until Ctrl-C."""
    types = cast("list[EventType] | None", type)
    memory = memory_from(url, data_dir, tenant, owner=owner, worker=False)
    asyncio.run(_follow(memory, types, as_start(start), json=json))


@app.command("consumers")
def consumers(
    after: Annotated[str, typer.Option(help="Continue after this name, the last of the previous page.")] = "",
    limit: Limit = 100,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List named consumers of events, and how far behind each one is."""
    found = run_call(
        memory_from(url, data_dir, tenant, owner=owner, worker=False),
        lambda memory: memory.events.consumers(after=after, limit=limit),
    )
    if json:
        print_json([asdict(consumer) for consumer in found])
    else:
        _print_consumers(found)


async def _follow(memory: AsyncMemory, types: list[EventType] | None, start: Start, *, json: bool) -> None:
    """Print events until SIGTERM or Ctrl-C."""
    task = asyncio.current_task()
    assert task is not None, "this runs in a task"
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        async with memory:
            async for event in memory.events.subscribe(types=types, start=start):
                _print_event(event, json=json)


def _print_event(event: Event, *, json: bool) -> None:
    if json:
        print_json_line(asdict(event))
    else:
        about = f"{event.type} {one_line(event.owner)} {one_line(event.subject)}"
        print_line(f"{event.position} {shown_moment(event.at)} {about}")


def _print_events(events: Sequence[Event]) -> None:
    """A line per event, with its owner if there are several."""
    owners = ["owner"] if len({event.owner for event in events}) > 1 else []
    listing = table("position", "when (UTC)", "type", *owners, "subject", empty="No events.")
    for event in events:
        owner, subject = Text(one_line(event.owner)), Text(one_line(event.subject))
        about = [owner, subject] if owners else [subject]
        listing.add_row(str(event.position), shown_moment(event.at), event.type, *about)
    out.print(listing)


def _print_consumers(found: Sequence[EventConsumer]) -> None:
    listing = table("consumer", "owner", "types", "position", "behind", "moved (UTC)", empty="No consumers.")
    for consumer in found:
        listing.add_row(
            Text(one_line(consumer.name)),
            Text(one_line(consumer.owner or "everybody")),
            shown_types(consumer.types),
            str(consumer.position),
            str(consumer.behind),
            shown_moment(consumer.updated_at),
        )
    out.print(listing)
