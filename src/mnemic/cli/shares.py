"""`mnemic shares`: let other owners recall memories."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, cast

import typer
from rich.text import Text

from mnemic.cli.opening import memory_from
from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.types.memory import CATEGORIES, Category
from mnemic.types.share import Grant

app = typer.Typer(no_args_is_help=True, help="Grant other owners access to memories, and revoke it.")


@app.command("grant")
def grant(
    to: Annotated[str, typer.Argument(help="The owner who gets access.")],
    owner: Owner = None,
    channel: Annotated[str | None, typer.Option(help="Only memories in this channel.")] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(help=f"Only this category; may be repeated. One of: {', '.join(CATEGORIES)}."),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only with this tag; repeated: with one of them.")
    ] = None,
    conversation: Annotated[str | None, typer.Option(help="Only from this conversation.")] = None,
    expires_at: Annotated[
        str | None, typer.Option(help="When it expires: a date, or a date and time. Default: never.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Reason for the audit log.")] = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Let another owner recall memories of this one, until the grant is revoked or expires."""

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

    _print_one("Granted", asyncio.run(run()), json=json)


@app.command("revoke")
def revoke(
    grant_id: Annotated[str, typer.Argument(help="The id of the grant, from `mnemic shares list`.")],
    owner: Owner = None,
    reason: Annotated[str | None, typer.Option(help="Reason for the audit log.")] = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Revoke a grant, at once."""

    async def run() -> Grant:
        async with memory_from(url, data_dir, tenant, owner=owner) as memory:
            return await memory.shares.revoke(grant_id, reason=reason)

    _print_one("Revoked", asyncio.run(run()), json=json)


@app.command("list")
def list_grants(
    owner: Owner = None,
    received: Annotated[
        bool, typer.Option("--received", help="List grants received instead of given.")
    ] = False,
    ended: Annotated[bool, typer.Option("--ended", help="Also revoked and expired grants.")] = False,
    before: Annotated[
        str | None, typer.Option(help="Continue behind this id, the last of the page before.")
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
                given=not received, received=received, include_ended=ended, before=before, limit=limit
            )

    grants = asyncio.run(run())
    if json:
        print_json([asdict(each) for each in grants])
    else:
        _print_table(grants)


def _print_one(what: str, given: Grant, *, json: bool) -> None:
    if json:
        print_json(asdict(given))
    else:
        print_line(f"{what}: {one_line(given.owner)} → {one_line(given.granted_to)} ({given.grant_id}).")


def _print_table(grants: Sequence[Grant]) -> None:
    listing = table("id", "of", "to", "what", "until", "")
    for each in grants:
        words = (each.owner, each.granted_to, _scope(each))
        until = f"{each.expires_at:%Y-%m-%d}" if each.expires_at is not None else ""
        listing.add_row(
            str(each.grant_id), *(Text(one_line(word)) for word in words), until, _condition(each)
        )
    out.print(listing)


def _scope(given: Grant) -> str:
    """What is shared, for a table."""
    parts = [
        f"channel {given.channel}" if given.channel is not None else "",
        f"conversation {given.conversation}" if given.conversation is not None else "",
        " or ".join(given.categories or ()),
        f"tagged {' or '.join(given.tags)}" if given.tags else "",
    ]
    return ", ".join(part for part in parts if part) or "everything"


def _condition(given: Grant) -> str:
    if given.revoked_at is not None:
        return "revoked"
    return "ended" if given.expires_at is not None and given.expires_at <= datetime.now(UTC) else ""
