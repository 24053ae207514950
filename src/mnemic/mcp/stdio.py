"""The MCP server on standard input and output, for a client that starts `mnemic mcp`."""

from mcp.server.stdio import stdio_server

from mnemic.mcp.client_scope import ClientScope
from mnemic.mcp.server import build_server


async def serve_stdio(client: ClientScope) -> None:
    """Answer requests until the client closes standard input. Standard output carries only the protocol."""
    server = build_server(lambda _: client)
    try:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    except* BrokenPipeError:
        # The client exited without waiting for its response.
        pass
