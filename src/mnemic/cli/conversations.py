"""`mnemic conversations`: list conversations and show their turns."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from mnemic.cli.empty_lists import reason_for_empty
from mnemic.cli.opening import memory_from
from mnemic.cli.options import Channel, DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.types.conversation import Conversation
from mnemic.types.memory import MemoryRecord

app = typer.Typer(no_args_is_help=True, help="List conversations and show their turns.")


@app.command("list")
def list_conversations(
    owner: Owner = None,
    channel: Channel = None,
    before: Annotated[
        str | None,
        typer.Option(help="Continue after this time: the last turn on the previous page."),
    ] = None,
    limit: Annotated[int, typer.Option(help="Maximum number to list.")] = 20,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List conversations, the latest first."""

    async def run() -> tuple[Sequence[Conversation], str]:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            found = await memory.conversations.list(channel=channel, before=before, limit=limit)
            return found, "" if found else await reason_for_empty(memory, "No conversations.")

    conversations, empty = asyncio.run(run())
    if json:
        print_json([asdict(each) for each in conversations])
    elif empty:
        print_line(empty)
    else:
        _print_table(conversations)


@app.command("show")
def show(
    conversation: Annotated[
        str, typer.Argument(help="The name of the conversation, from `mnemic conversations list`.")
    ],
    from_position: Annotated[int, typer.Option("--from", help="Position of the first turn to show.")] = 0,
    limit: Annotated[int, typer.Option(help="Maximum number of turns.")] = 100,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show the turns of a conversation, in order."""

    async def run() -> Sequence[MemoryRecord]:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            await memory.conversations.get(conversation)  # An unknown one is an error, not empty.
            return await memory.conversations.turns(conversation, from_position=from_position, limit=limit)

    turns = asyncio.run(run())
    if json:
        print_json([asdict(turn) for turn in turns])
    else:
        _print_turns(turns)


def _print_table(conversations: Sequence[Conversation]) -> None:
    listing = table("conversation", "turns", "started", "last turn")
    for each in conversations:
        times = (f"{moment:%Y-%m-%d %H:%M}" for moment in (each.started_at, each.last_turn_at))
        listing.add_row(Text(one_line(each.conversation)), f"{each.turn_count:,}", *times)
    out.print(listing)


def _print_turns(turns: Sequence[MemoryRecord]) -> None:
    listing = table("", "when", "who", "what")
    for turn in turns:
        when = f"{turn.at or turn.created_at:%Y-%m-%d %H:%M}"
        who = Text(one_line(turn.name or turn.role or ""))
        listing.add_row(str(turn.position), when, who, Text(one_line(turn.content)))
    out.print(listing)
