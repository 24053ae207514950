"""What the attacks over HTTP share: a server with MCP, keys of fresh tenants, raw connections."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from mnemic.mcp.http import build_http_app
from mnemic.server.app import ServerApp, mount_mcp
from mnemic.types.key import NewApiKey, Role
from tests.server.running import RunningServer, running_server

PATIENCE_S = 60
JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/x-ndjson"}
MCP_HEADERS = {**JSON, "Accept": "application/json, text/event-stream"}
MCP_BODY = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()


def with_mcp(server_app: ServerApp) -> None:
    """Mount MCP as `mnemic serve` does."""
    mount_mcp(server_app.app, build_http_app(server_app.authenticator.resolve))


@contextmanager
def attacked_server(folder: Path, **limits: Any) -> Iterator[RunningServer]:
    """A server with MCP and these limits."""
    with running_server(folder, prepare=with_mcp, **limits) as server:
        yield server


def new_key(
    server: RunningServer, role: Role = "write", tenant: str | None = None, **options: Any
) -> NewApiKey:
    """A key of a new tenant, or of the named one."""
    return server.create_key(tenant or f"tenant {uuid4()}", role, **options)


def connect(server: RunningServer) -> socket.socket:
    """A raw connection."""
    address = urlsplit(server.url)
    return socket.create_connection((str(address.hostname), address.port or 0), timeout=PATIENCE_S)


def head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    """Request line and headers, without the empty line at their end."""
    lines = [
        f"{method} {target} HTTP/1.1",
        "Host: 127.0.0.1",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n"


def rest_of(connection: socket.socket) -> str:
    """Everything that the server sends until it closes the connection."""
    received = b""
    try:
        while part := connection.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return received.decode("latin-1")


def send_raw(server: RunningServer, request: bytes) -> str:
    """Send bytes; returns everything that the server sends until it closes the connection."""
    with connect(server) as connection:
        connection.sendall(request)
        return rest_of(connection)


def status_in(answer: str) -> int:
    """The status of a raw response."""
    return int(answer.split(" ", 2)[1])


def authorization(key: NewApiKey) -> dict[str, str]:
    """The header that carries a key."""
    return {"Authorization": f"Bearer {key.key}"}
