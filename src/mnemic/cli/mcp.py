"""`mnemic mcp`: an MCP server over standard input and output."""

import asyncio
import logging
import signal
import sys
from typing import Annotated

import typer

from mnemic.cli.opening import memory_from
from mnemic.cli.options import Channel, DataDir, Embedder, Owner, TenantName, Url
from mnemic.errors import ConfigurationError, install_extra

Compat = Annotated[
    list[str] | None,
    typer.Option(
        "--compat",
        help="Also offer other tools; may be repeated: reference (the reference memory server), "
        "chatgpt (search and fetch).",
    ),
]
AnyOwner = Annotated[bool, typer.Option("--any-owner", help="Let each call name its owner.")]


def mcp(
    owner: Owner = None,
    any_owner: AnyOwner = False,
    compat: Compat = None,
    channel: Channel = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
) -> None:
    """Serve an MCP client over standard input and output, until it closes them."""
    try:
        from mnemic.mcp.client_scope import ClientScope, check_compat  # noqa: PLC0415 - the extra mcp
        from mnemic.mcp.stdio import serve_stdio  # noqa: PLC0415 - the extra mcp
    except ImportError as error:
        raise ConfigurationError(
            f"`mnemic mcp` needs the package mcp, which cannot be imported ({error}). {install_extra('mcp')}."
        ) from error
    chosen = check_compat(compat or ())
    memory = memory_from(
        url, data_dir, tenant, owner=owner, channel=channel, embedder=embedder, creates_tenant=True
    )
    _check_owner(memory.owner, any_owner=any_owner)

    async def run() -> None:
        async with memory:
            await serve_stdio(ClientScope(memory.scope(process="mcp"), compat=chosen))

    # Standard output belongs to the protocol.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    # The thread that reads input cannot be interrupted: Ctrl-C ends the process as SIGTERM does.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(run())


def _check_owner(owner: str | None, *, any_owner: bool) -> None:
    if any_owner and owner is not None:
        raise ConfigurationError("Give either --any-owner or an owner (--owner or MNEMIC_OWNER), not both.")
    if not any_owner and owner is None:
        raise ConfigurationError(
            "No owner: give --owner NAME, or set MNEMIC_OWNER. With --any-owner, each call names its own."
        )
