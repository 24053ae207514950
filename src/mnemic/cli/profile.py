"""`mnemic profile`: what is known about the owner or about a name."""

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer

from mnemic.cli.empty_lists import reason_for_empty
from mnemic.cli.opening import memory_from
from mnemic.cli.options import Channel, DataDir, Embedder, Json, Owner, TenantName, Url
from mnemic.cli.output import print_json, print_line, remark
from mnemic.types.profile import Profile

Entity = Annotated[
    str | None,
    typer.Argument(help="The name of a person or thing that memories mention. Default: the owner."),
]
MaxTokens = Annotated[int, typer.Option(help="Maximum number of tokens of the text.")]


def profile(
    entity: Entity = None,
    owner: Owner = None,
    max_tokens: MaxTokens = 2_000,
    channel: Channel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Show what is known about the owner, or about a name, in sections."""

    async def run() -> tuple[Profile, str]:
        async with memory_from(
            url, data_dir, tenant, owner=owner, channel=channel, embedder=embedder
        ) as memory:
            found = await memory.profile(entity, max_tokens=max_tokens)
            return found, "" if found.text else await reason_for_empty(memory, "")

    found, empty = asyncio.run(run())
    if json:
        print_json(asdict(found))
        return
    if empty:
        print_line(empty)
        return
    if found.text:
        print(found.text)
    for note in found.notes:
        remark(note)
