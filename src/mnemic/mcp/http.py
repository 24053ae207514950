"""The MCP server over streamable HTTP: an ASGI app to be mounted, each request on its own.

A request carries a bearer token. `resolve` turns it into a memory that sees what the token may see, and a
role; what it raises becomes 401. There are no sessions: a token that was revoked a moment ago opens nothing.
``?compat=reference`` and ``?compat=chatgpt`` in the address add the tools of others.

Requests from pages in a browser are turned away by their Host and Origin headers, against DNS rebinding.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mnemic.errors import DatabaseError, InvalidInputError, MnemicError
from mnemic.mcp.client_scope import ClientScope, check_compat
from mnemic.mcp.server import Context, build_server
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.key import Role

logger = logging.getLogger(__name__)

Resolve = Callable[[str], Awaitable[tuple[AsyncMemory, Role]]]

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
REQUEST_MAX_BYTES = 4 * 1024 * 1024
TOKEN_MAX_CHARACTERS = 512
RETRY_AFTER_S = 5

CLIENT_SCOPE = "mnemic.client_scope"


def build_http_app(resolve: Resolve, *, allowed_hosts: Sequence[str] | None = LOOPBACK_HOSTS) -> ASGIApp:
    """The app. `allowed_hosts` are the names that it is reached by, on any port; None lets all through."""
    server = build_server(_scope_of)
    security = _security(allowed_hosts)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        client = await _admit(Request(scope), resolve)
        if isinstance(client, Response):
            await client(scope, receive, send)
            return
        # It is made for one request, so that whoever mounts this app has nothing to start and to end.
        manager = StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=True,
            security_settings=security,
            max_request_body_size=REQUEST_MAX_BYTES,
        )
        async with manager.run():
            await manager.handle_request({**scope, CLIENT_SCOPE: client}, receive, send)

    return app


async def _admit(request: Request, resolve: Resolve) -> ClientScope | Response:
    """Who asks, or what to answer instead."""
    token = _bearer_token(request)
    if token is None:
        return _unauthorized("Send `Authorization: Bearer <key>`; `mnemic keys create` makes a key.")
    try:
        client = ClientScope(*await resolve(token))
    except DatabaseError as error:
        logger.warning("A request could not be admitted: %s", error)
        headers = {"Retry-After": str(RETRY_AFTER_S)}
        return _problem(503, "The memory cannot be reached. Try again in a moment.", headers)
    except MnemicError:
        # What is wrong with the key, is told to nobody.
        return _unauthorized("The key is wrong, expired or revoked.")
    if request.method != "POST":
        # GET is for servers that speak first, DELETE for those that have sessions.
        return _problem(405, "Only POST is answered here.", {"Allow": "POST"})
    try:
        return replace(client, compat=check_compat(request.query_params.getlist("compat")))
    except InvalidInputError as error:
        return _problem(400, str(error))


def _bearer_token(request: Request) -> str | None:
    """The token in the only `Authorization` header, or None."""
    given = request.headers.getlist("authorization")
    scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    is_token = scheme.lower() == "bearer" and 1 <= len(token.strip()) <= TOKEN_MAX_CHARACTERS
    return token.strip() if is_token else None


def _unauthorized(detail: str) -> Response:
    return _problem(401, detail, {"WWW-Authenticate": "Bearer"})


def _problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    body = {"status": status, "detail": detail}
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def _scope_of(context: Context) -> ClientScope:
    assert context.request is not None, "every request came through the app"
    client: ClientScope = context.request.scope[CLIENT_SCOPE]
    return client


def _security(allowed_hosts: Sequence[str] | None) -> TransportSecuritySettings:
    if allowed_hosts is None:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    hosts = [pattern for host in allowed_hosts for pattern in (host, f"{host}:*")]
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
