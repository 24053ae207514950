"""The proxy as an ASGI app: alone (`mnemic proxy`), or below `/proxy` of a server (`mnemic serve`).

A request finds its provider by its path and its caller by a key (`callers.py`). One that holds a conversation
becomes a turn (`turn.py`); every other one passes unchanged, body and response as they arrive. A response of
the provider, an error included, reaches the client unchanged. The proxy's own errors have the shape of the
API that the client speaks (`errors.py`).

A client that disconnects cancels the request to the provider.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from starlette.types import ASGIApp, Receive, Scope, Send

from mnemic.config import Settings
from mnemic.proxy.apis import APIS
from mnemic.proxy.callers import Callers, KeylessAccess, ProxyCaller
from mnemic.proxy.client_request import ClientRequest, client_request
from mnemic.proxy.endpoints import ProviderEndpoint
from mnemic.proxy.errors import ProxyError
from mnemic.proxy.forwarding import (
    Forwarder,
    UpstreamBrokenError,
    provider_url,
    relay_verbatim,
)
from mnemic.proxy.headers import first, request_headers, rewritten_headers
from mnemic.proxy.quota import TenantQuota
from mnemic.proxy.request_bodies import ClientGoneError, read_body
from mnemic.proxy.responses.stored import response_of_path
from mnemic.proxy.rounds import relay_shown
from mnemic.proxy.turn import Turns
from mnemic.sdk.tenants import Tenants
from mnemic.server.app import ServerApp
from mnemic.server.authentication import Authenticator

MOUNTED_AT = "/proxy"
HEALTH = b"/healthz"
BODIES_MAX_BYTES = 1024**3
TENANT_BODIES_MAX_BYTES = 256 * 1024**2
"""Bytes of bodies in memory, of all tenants and of one; at least one body of the largest size."""
UNKNOWN_PATH = (
    "The proxy knows no such path. It serves /v1/messages (Anthropic), /v1/chat/completions and "
    "/v1/responses (OpenAI), and passes other paths below /v1/ on."
)

logger = logging.getLogger("mnemic.proxy")


class Proxy:
    """The app. Open it with `async with`: it holds connections to the providers."""

    def __init__(
        self,
        tenants: Tenants,
        settings: Settings,
        authenticator: Authenticator,
        *,
        keyless: KeylessAccess | None = None,
        prefix: str = "",
    ) -> None:
        """`keyless` allows requests without a key; `prefix` is the path below which the proxy is mounted."""
        self._prefix = prefix.encode()
        self._max_bytes = settings.proxy_max_request_bytes
        self._callers = Callers(authenticator, keyless=keyless, owner=settings.owner)
        self._requests = TenantQuota(
            "requests to providers in progress",
            settings.proxy_max_requests,
            settings.proxy_max_requests_per_tenant,
        )
        self._bodies = TenantQuota(
            "bytes of requests in memory",
            max(BODIES_MAX_BYTES, self._max_bytes),
            max(TENANT_BODIES_MAX_BYTES, self._max_bytes),
        )
        self._forwarder = Forwarder(
            {
                "anthropic": provider_url("MNEMIC_PROXY_ANTHROPIC_URL", settings.proxy_anthropic_url),
                "openai": provider_url("MNEMIC_PROXY_OPENAI_URL", settings.proxy_openai_url),
            },
            pause_s=settings.proxy_pause_s,
            connections_max=settings.proxy_max_requests,
        )
        self._turns = Turns(tenants, settings, self._forwarder, max_bytes=self._max_bytes)

    async def __aenter__(self) -> Self:
        """Connections are opened when they are needed."""
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Write what is still to be written, and close the connections."""
        await self._turns.aclose()
        await self._forwarder.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            await self._serve(client_request(scope, receive, send, prefix=self._prefix))

    async def _serve(self, request: ClientRequest) -> None:
        """Answer a request; every error becomes a response, or ends the connection if one has begun."""
        try:
            await self._answer(request)
        except ClientGoneError:
            logger.info("the client disconnected")
        except UpstreamBrokenError as error:
            # Raised again: the server closes the connection, and the client sees that the response is not
            # complete.
            logger.warning("the response of the provider broke off: %s", error)
            raise
        except ProxyError as error:
            logger.warning("%s request refused with %d", request.provider, error.status)
            if request.has_started:
                raise
            await request.send_error(error)
        except Exception:
            logger.exception("%s request failed", request.provider)
            if request.has_started:
                raise
            await request.send_error(ProxyError(500, "The proxy failed. Its log says why."))

    async def _answer(self, request: ClientRequest) -> None:
        if request.path == HEALTH:
            await _say_healthy(request)
            return
        endpoint = request.endpoint
        caller = await self._callers.find(request.token, request.headers)
        if endpoint is None:
            raise ProxyError(404, UNKNOWN_PATH)
        with self._requests.held(caller.tenant):
            if endpoint.api is None:
                await request.while_connected(self._pass_on(request, endpoint, caller))
            else:
                await self._converse(request, endpoint, caller)

    async def _pass_on(self, request: ClientRequest, endpoint: ProviderEndpoint, caller: ProxyCaller) -> None:
        """Pass on a request that holds no conversation, without waiting for the whole body."""
        response_id = response_of_path(request.path)
        stored = await self._turns.stored_response(caller, response_id) if response_id else None
        has_body = first(request.headers, b"transfer-encoding") or first(request.headers, b"content-length")
        if not has_body:
            request.body_read.set()
        headers = (request_headers if stored is None else rewritten_headers)(request.headers)
        if length := first(request.headers, b"content-length"):
            headers.append((b"content-length", length.encode()))
        async with self._forwarder.response(
            endpoint.provider,
            request.method,
            (request.path if stored is None else stored.path(request.path), request.query),
            headers,
            request.pieces() if has_body else None,
        ) as response:
            if stored is None:
                await relay_verbatim(response, request.send)
            else:
                await relay_shown(response, request.send, stored.shown)

    async def _converse(
        self, request: ClientRequest, endpoint: ProviderEndpoint, caller: ProxyCaller
    ) -> None:
        assert endpoint.api is not None, "the request holds a conversation"
        length = first(request.headers, b"content-length")
        async with self._turns.looking_up(request, APIS[endpoint.api], caller) as looked_up:
            with self._bodies.growing(caller.tenant) as take:
                raw = await read_body(
                    request.receive, content_length=length, max_bytes=self._max_bytes, on_piece=take
                )
                request.body_read.set()
                turn = self._turns.run(request, endpoint, caller, raw, looked_up, on_text=take)
                await request.while_connected(turn)


class ProxyMount:
    """Middleware that serves the proxy below `/proxy`, in front of everything else that the server does.

    The server's own middleware would change what passes: it compresses, limits the time and adds headers.
    """

    def __init__(self, app: ASGIApp, *, proxy: Proxy) -> None:
        self._app = app
        self._proxy = proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of the proxy, or pass it to the server."""
        is_proxied = scope["type"] == "http" and scope["path"].startswith(f"{MOUNTED_AT}/")
        await (self._proxy if is_proxied else self._app)(scope, receive, send)


@asynccontextmanager
async def mounted_proxy(server_app: ServerApp, tenants: Tenants, settings: Settings) -> AsyncIterator[Proxy]:
    """A proxy below `/proxy` of a server that has not started; every request to it needs a key."""
    async with Proxy(tenants, settings, server_app.authenticator, prefix=MOUNTED_AT) as proxy:
        server_app.app.add_middleware(ProxyMount, proxy=proxy)
        yield proxy


async def _say_healthy(request: ClientRequest) -> None:
    request.body_read.set()
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"3")]
    await request.send({"type": "http.response.start", "status": 200, "headers": headers})
    await request.send({"type": "http.response.body", "body": b"ok\n"})


async def _live(receive: Receive, send: Send) -> None:
    """Answer the server's lifespan messages; the caller that opened the proxy closes it."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
