"""`mnemic shares`: offer other owners access to memories, accept or drop what others offer."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, cast

import typer
from rich.text import Text

from mnemic.cli.opening import memory_from, tenant_memory
from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.types.memory import CATEGORIES, Category
from mnemic.types.share import Grant, GrantPolicy, GrantState

app = typer.Typer(
    no_args_is_help=True, help="Offer other owners access to memories; accept or drop what they offer."
)

GrantId = Annotated[str, typer.Argument(help="The id of the grant, from `mnemic shares list`.")]
# What a grant covers; `mnemic groups grant` has the same options.
InChannel = Annotated[str | None, typer.Option("--channel", help="Only memories in this channel.")]
OfCategories = Annotated[
    list[str] | None,
    typer.Option("--category", help=f"Only this category; may be repeated. One of: {', '.join(CATEGORIES)}."),
]
WithTags = Annotated[
    list[str] | None, typer.Option("--tag", help="Only with this tag; repeated: with one of them.")
]
FromConversation = Annotated[str | None, typer.Option("--conversation", help="Only from this conversation.")]
ExpiresAt = Annotated[
    str | None,
    typer.Option("--expires-at", help="When it expires: a date, or a date and time. Default: never."),
]
Reason = Annotated[
    str | None, typer.Option("--reason", help="The reason, which both sides see in `mnemic shares list`.")
]


@app.command("grant")
def grant(
    to: Annotated[str, typer.Argument(help="The owner who gets access.")],
    owner: Owner = None,
    channel: InChannel = None,
    category: OfCategories = None,
    tag: WithTags = None,
    conversation: FromConversation = None,
    expires_at: ExpiresAt = None,
    reason: Reason = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Offer another owner to recall memories of this one. It takes effect when that owner accepts."""

    async def run() -> Grant:
        async with memory_from(url, data_dir, tenant, owner=owner, creates_tenant=True) as memory:
            return await memory.shares.grant(
                to,
                channel=channel,
                categories=cast(list[Category] | None, category),
                tags=tag,
                conversation=conversation,
                expires_at=expires_at,
                reason=reason,
            )

    granted = asyncio.run(run())
    print_grant("Granted" if granted.state == "active" else "Offered", granted, json=json)


@app.command("accept")
def accept(
    grant_id: GrantId,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Accept a grant that was offered to this owner."""

    async def run() -> Grant:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.shares.accept(grant_id)

    print_grant("Accepted", asyncio.run(run()), json=json)


@app.command("drop")
def drop(
    grant_id: GrantId,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Drop a grant to this owner, offered or accepted, at once and for good."""

    async def run() -> Grant:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.shares.drop(grant_id)

    print_grant("Dropped", asyncio.run(run()), json=json)


@app.command("revoke")
def revoke(
    grant_id: GrantId,
    owner: Owner = None,
    reason: Reason = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Revoke a grant that this owner gave, at once and for good."""

    async def run() -> Grant:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.shares.revoke(grant_id, reason=reason)

    print_grant("Revoked", asyncio.run(run()), json=json)


@app.command("list")
def list_grants(
    owner: Owner = None,
    received: Annotated[
        bool, typer.Option("--received", help="List grants received instead of given.")
    ] = False,
    ended: Annotated[bool, typer.Option("--ended", help="Also expired, dropped and revoked grants.")] = False,
    state: Annotated[
        GrantState | None, typer.Option(help="Only grants in this state, such as offers that wait.")
    ] = None,
    before: Annotated[
        str | None, typer.Option(help="Continue after this id, the last of the previous page.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Maximum number to list.")] = 100,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List grants, newest first."""

    async def run() -> Sequence[Grant]:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.shares.list(
                given=not received,
                received=received,
                include_ended=ended,
                state=state,
                before=before,
                limit=limit,
            )

    grants = asyncio.run(run())
    if json:
        print_json([asdict(each) for each in grants])
    else:
        _print_table(grants)


@app.command("policy")
def policy(
    new: Annotated[
        GrantPolicy | None,
        typer.Argument(help="Set it: ask each reader, or accept_all at once. Default: show it."),
    ] = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Show or set whether readers of this tenant must accept grants."""

    async def run() -> GrantPolicy:
        async with tenant_memory(url, data_dir, tenant) as memory:
            return await memory.shares.policy() if new is None else await memory.shares.set_policy(new)

    found = asyncio.run(run())
    if json:
        print_json({"policy": found})
    else:
        print_line(found)


def print_grant(what: str, given: Grant, *, json: bool) -> None:
    """Print one grant after a change."""
    if json:
        print_json(asdict(given))
    else:
        print_line(f"{what}: {one_line(given.owner)} → {one_line(_reader(given))} ({given.grant_id}).")


def _print_table(grants: Sequence[Grant]) -> None:
    """A line per grant; reasons have a column only where a grant has one."""
    reasons = ["reason"] if any(each.reason for each in grants) else []
    listing = table(
        "id",
        "of",
        "to",
        "what",
        "until",
        "state",
        *reasons,
        empty="No grants. `mnemic shares grant` offers one.",
    )
    for each in grants:
        words = (each.owner, _reader(each), _scope(each))
        until = f"{each.expires_at:%Y-%m-%d}" if each.expires_at is not None else ""
        listing.add_row(
            str(each.grant_id),
            *(Text(one_line(word)) for word in words),
            until,
            each.state,
            *(Text(one_line(each.reason or "")) for _ in reasons),
        )
    out.print(listing)


def _reader(given: Grant) -> str:
    return given.granted_to or f"group {given.granted_to_group}"


def _scope(given: Grant) -> str:
    """What is shared, for a table."""
    parts = [
        f"channel {given.channel}" if given.channel is not None else "",
        f"conversation {given.conversation}" if given.conversation is not None else "",
        " or ".join(given.categories or ()),
        f"tagged {' or '.join(given.tags)}" if given.tags else "",
    ]
    return ", ".join(part for part in parts if part) or "everything"
