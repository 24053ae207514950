"""Fixtures: clients that are connected to the MCP server."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent

from mnemic.mcp.client_scope import ClientScope, Compat
from mnemic.mcp.server import build_server
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.key import Role
from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    memory,
    open_memory,
)

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def connect(memory: AsyncMemory) -> Connect:  # noqa: F811 (the fixture)
    """Connects a client in this process; by default to the memory of alice, with the role write."""

    @asynccontextmanager
    async def connected(
        *compat: Compat, role: Role = "write", to: AsyncMemory | None = None
    ) -> AsyncIterator[Client]:
        scope = ClientScope(to or memory, role, frozenset(compat))
        async with Client(build_server(lambda _: scope)) as client:
            yield client

    return connected


def text_of(result: CallToolResult) -> str:
    """The first text of a result."""
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


async def called(client: Client, tool: str, **arguments: Any) -> Any:
    """The structured content of a call that must succeed."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The error text of a call that must fail."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    assert "Traceback" not in text_of(result)
    return text_of(result)
