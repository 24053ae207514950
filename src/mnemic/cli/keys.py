"""`mnemic keys`: create, list and revoke API keys.

`create` prints the key, and nothing else, on standard output, so that it can be piped.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.markup import escape

from mnemic.cli.opening import tenant_memory
from mnemic.cli.options import DataDir, Json, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, remark, table
from mnemic.errors import InvalidInputError
from mnemic.types.checks import check_time
from mnemic.types.key import ApiKey, NewApiKey, Role

PERIOD = re.compile(r"(\d{1,5})([hdw])")
HOURS = {"h": 1, "d": 24, "w": 7 * 24}

app = typer.Typer(no_args_is_help=True, help="Create, list and revoke API keys of a server.")

KeyOwner = Annotated[
    str | None,
    typer.Option("--owner", help="Only keys of this owner. MNEMIC_OWNER is ignored here."),
]


@app.command("create")
def create(
    role: Annotated[Role, typer.Option(help="What the key allows: admin allows everything.")],
    owner: Annotated[
        str | None,
        typer.Option("--owner", help="Bind the key to this owner. MNEMIC_OWNER is ignored here."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="A name that says what the key is for.")] = None,
    expires: Annotated[
        str | None, typer.Option(help="When it expires: 12h, 30d, 8w, or a date. Default: never.")
    ] = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Create an API key and print it. It is shown only once."""
    expires_at = _moment(expires) if expires is not None else None

    async def run() -> NewApiKey:
        async with tenant_memory(url, data_dir, tenant, owner=owner, creates_tenant=True) as memory:
            return await memory.keys.create(role=role, name=name, expires_at=expires_at)

    made = asyncio.run(run())
    if json:
        print_json(asdict(made))
    else:
        print_line(made.key)
        remark(f"{made.role} key {made.key_id}. Keep it: only its hash is stored, and it is not shown again.")


@app.command("list")
def list_keys(
    owner: KeyOwner = None,
    ended: Annotated[bool, typer.Option("--ended", help="Also revoked and expired keys.")] = False,
    limit: Annotated[int, typer.Option(help="Maximum number to list.")] = 100,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List API keys, newest first, without the keys themselves."""

    async def run() -> Sequence[ApiKey]:
        async with tenant_memory(url, data_dir, tenant, owner=owner) as memory:
            return await memory.keys.list(include_ended=ended, limit=limit)

    keys = asyncio.run(run())
    if json:
        print_json([asdict(key) for key in keys])
    else:
        _print_table(keys)


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(help="The id of the key, from `mnemic keys list`.")],
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Revoke an API key. The next request with it is refused."""

    async def run() -> ApiKey:
        async with tenant_memory(url, data_dir, tenant) as memory:
            return await memory.keys.revoke(key_id)

    key = asyncio.run(run())
    if json:
        print_json(asdict(key))
    else:
        print_line(f"Revoked {key.prefix}… ({key.key_id}).")


def _print_table(keys: Sequence[ApiKey]) -> None:
    shown = table(
        "id",
        "key",
        "name",
        "role",
        "owner",
        "created",
        "expires",
        "last used",
        "",
        empty="No keys. `mnemic keys create` makes one.",
    )
    for key in keys:
        shown.add_row(
            str(key.key_id),
            f"{key.prefix}…",
            escape(one_line(key.name or "")),
            key.role,
            escape(one_line(key.owner or "everybody")),
            _day(key.created_at),
            _day(key.expires_at),
            _day(key.last_used_at),
            _condition(key),
        )
    out.print(shown)


def _condition(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= datetime.now(UTC) else ""


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment is not None else "never"


def _moment(text: str) -> datetime:
    """The end of a period that starts now, or a date."""
    if period := PERIOD.fullmatch(text):
        count, unit = period.groups()
        return datetime.now(UTC) + timedelta(hours=int(count) * HOURS[unit])
    try:
        return check_time("--expires", text)
    except InvalidInputError:
        raise InvalidInputError(
            "--expires must be a period such as 12h, 30d or 8w, or a date such as 2027-01-31."
        ) from None
