"""`mnemic groups`: groups of owners, and grants to all members of a group. For administrators."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, cast

import typer
from rich.text import Text

from mnemic.cli.opening import tenant_memory
from mnemic.cli.options import DataDir, Json, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.cli.shares import (
    ExpiresAt,
    FromConversation,
    InChannel,
    OfCategories,
    Reason,
    WithTags,
    print_grant,
)
from mnemic.types.memory import Category
from mnemic.types.share import EVERYONE, Grant, Group

app = typer.Typer(no_args_is_help=True, help="Manage groups of owners, and share memories with them.")

GroupName = Annotated[str, typer.Argument(help="The name of the group.")]
Member = Annotated[str, typer.Argument(help="The owner who is, or becomes, a member.")]
After = Annotated[str, typer.Option(help="Continue after this name, the last of the previous page.")]
Limit = Annotated[int, typer.Option(help="Maximum number to list.")]


@app.command("create")
def create(
    group: GroupName,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Create a group without members."""

    async def run() -> Group:
        async with tenant_memory(url, data_dir, tenant, creates_tenant=True) as memory:
            return await memory.groups.create(group)

    created = asyncio.run(run())
    if json:
        print_json(asdict(created))
    else:
        print_line(f"Created: {one_line(created.name)}")


@app.command("delete")
def delete(
    group: GroupName,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Delete a group and revoke the grants to it, for good."""

    async def run() -> None:
        async with tenant_memory(url, data_dir, tenant) as memory:
            await memory.groups.delete(group)

    asyncio.run(run())
    if json:
        print_json({"deleted": group})
    else:
        print_line(f"Deleted: {one_line(group)}")


@app.command("add")
def add(
    group: GroupName,
    member: Member,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Add an owner to a group."""

    async def run() -> bool:
        async with tenant_memory(url, data_dir, tenant) as memory:
            return await memory.groups.add(group, member)

    is_new = asyncio.run(run())
    if json:
        print_json({"added": is_new})
    else:
        print_line(f"{'Added' if is_new else 'A member already'}: {one_line(member)}")


@app.command("remove")
def remove(
    group: GroupName,
    member: Member,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Remove an owner from a group."""

    async def run() -> bool:
        async with tenant_memory(url, data_dir, tenant) as memory:
            return await memory.groups.remove(group, member)

    was_member = asyncio.run(run())
    if json:
        print_json({"removed": was_member})
    else:
        print_line(f"{'Removed' if was_member else 'No member'}: {one_line(member)}")


@app.command("list")
def list_groups(
    after: After = "",
    limit: Limit = 100,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List groups by name. The group `everyone` always exists and is not listed."""

    async def run() -> Sequence[Group]:
        async with tenant_memory(url, data_dir, tenant) as memory:
            return await memory.groups.list(after=after, limit=limit)

    found = asyncio.run(run())
    if json:
        print_json([asdict(each) for each in found])
        return
    listing = table(
        "group", "members", "created (UTC)", empty="No groups. `mnemic groups create NAME` makes one."
    )
    for each in found:
        created = f"{each.created_at:%Y-%m-%d %H:%M}"
        listing.add_row(Text(one_line(each.name)), f"{each.member_count:,}", created)
    out.print(listing)


@app.command("members")
def members(
    group: GroupName,
    after: After = "",
    limit: Limit = 100,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List the members of a group by name."""

    async def run() -> Sequence[str]:
        async with tenant_memory(url, data_dir, tenant) as memory:
            return await memory.groups.members(group, after=after, limit=limit)

    found = asyncio.run(run())
    if json:
        print_json(list(found))
        return
    for member in found:
        print_line(one_line(member))


@app.command("grant")
def grant(
    group: Annotated[str, typer.Argument(help=f"The name of the group, or `{EVERYONE}` for all owners.")],
    owner: Annotated[str, typer.Option(help="Whose memories are shared. MNEMIC_OWNER is ignored here.")],
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
    """Let all members of a group recall memories of an owner. It takes effect at once."""

    async def run() -> Grant:
        async with tenant_memory(url, data_dir, tenant) as memory:
            return await memory.groups.grant(
                group,
                owner=owner,
                channel=channel,
                categories=cast(list[Category] | None, category),
                tags=tag,
                conversation=conversation,
                expires_at=expires_at,
                reason=reason,
            )

    print_grant("Granted", asyncio.run(run()), json=json)
