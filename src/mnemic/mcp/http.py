"""The MCP server over streamable HTTP: an ASGI app to be mounted; every request stands alone.

A request carries a bearer token. `resolve` returns the memory and the role of the token; if it raises, the
response is 401. There are no sessions, so a revoked token is refused at once. ``?compat=reference`` and
``?compat=chatgpt`` in the URL add compatible sets of tools.

The Host and Origin headers are checked against DNS rebinding, which refuses requests from web pages.
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
    """Build the app. `allowed_hosts` are the host names that it accepts, on any port; None accepts all."""
    server = build_server(_scope_of)
    security = _security(allowed_hosts)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        client = await _authenticate(Request(scope), resolve)
        if isinstance(client, Response):
            await client(scope, receive, send)
            return
        # One manager per request, so that the app needs no lifespan of its own.
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


async def _authenticate(request: Request, resolve: Resolve) -> ClientScope | Response:
    """The scope of the client, or the error response."""
    token = _bearer_token(request)
    if token is None:
        return _unauthorized("Send `Authorization: Bearer <key>`; `mnemic keys create` creates a key.")
    try:
        client = ClientScope(*await resolve(token))
    except DatabaseError as error:
        logger.warning("cannot authenticate a request: %s", error)
        headers = {"Retry-After": str(RETRY_AFTER_S)}
        return _problem(503, "The memory cannot be reached. Try again in a moment.", headers)
    except MnemicError:
        # The response does not say why the key is refused.
        return _unauthorized("The key is wrong, expired or revoked.")
    if request.method != "POST":
        # GET is for servers that send requests to clients, DELETE for servers with sessions.
        return _problem(405, "This path takes POST only.", {"Allow": "POST"})
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
    assert context.request is not None, "every request comes through the app"
    client: ClientScope = context.request.scope[CLIENT_SCOPE]
    return client


def _security(allowed_hosts: Sequence[str] | None) -> TransportSecuritySettings:
    if allowed_hosts is None:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    hosts = [pattern for host in allowed_hosts for pattern in (host, f"{host}:*")]
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
