"""The server as one ASGI app. Its middleware, from the outside in:

request_context   normalized path, request id, timeout, security headers, access log, error responses
compression       of responses
authentication    API key, rate limit of recall, requests in progress
request_body      size, pause, compression and media type of the body
idempotency       repeated writes
auditing          admin calls that change something

Behind them are the routes: pages, one route for each call of the SDK (`routes.py`), the stream of events,
health, metrics and MCP.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mnemic import __version__
from mnemic.config import Settings
from mnemic.db.task_cancellation import cancel_and_wait
from mnemic.sdk.http.surface import ROUTES, SURFACE
from mnemic.sdk.tenants import Tenants
from mnemic.server import problems
from mnemic.server.auditing import AuditMiddleware
from mnemic.server.authentication import MCP, AuthenticationMiddleware, Authenticator
from mnemic.server.health import health_routes
from mnemic.server.idempotency import IdempotencyMiddleware
from mnemic.server.limits import COMPRESSED_MIN_BYTES, COMPRESSION_LEVEL, ServerLimits, limits_of
from mnemic.server.metrics import metrics_routes
from mnemic.server.openapi import describe
from mnemic.server.pages import page_routes
from mnemic.server.paths import Target
from mnemic.server.request_body import BodyMiddleware
from mnemic.server.request_context import RequestContextMiddleware
from mnemic.server.routes import add_routes
from mnemic.server.stream import ROUTE as STREAM
from mnemic.server.stream import OpenStreams, stream_routes

BATCHES: frozenset[Target] = frozenset({(ROUTES["retain_many"].method, ROUTES["retain_many"].path)})
EXPORTS: frozenset[Target] = frozenset((route.method, route.path) for route in SURFACE if route.returns_file)
"""They may take as long as a batch."""
READING: frozenset[Target] = frozenset(
    (route.method, route.path) for route in SURFACE if route.role == "read"
)
DASHBOARD_STREAM: Target = ("GET", "/ui/events/stream")
ENDLESS: frozenset[Target] = frozenset({(STREAM.method, STREAM.path), DASHBOARD_STREAM})


@dataclass(frozen=True)
class ServerApp:
    """The ASGI app with the parts that the process needs: authentication, and the streams to end on stop."""

    app: FastAPI
    authenticator: Authenticator
    streams: OpenStreams
    limits: ServerLimits

    def stop(self) -> None:
        """End the streams, because they never end by themselves."""
        self.streams.stop()


def build_app(tenants: Tenants, settings: Settings, *, limits: ServerLimits | None = None) -> ServerApp:
    """Build the app over open tenants. `limits` replaces the limits of the settings."""
    bounds = limits if limits is not None else limits_of(settings)
    authenticator = Authenticator(tenants, limits=bounds)
    streams = OpenStreams(bounds)
    app = FastAPI(
        title="Mnemic",
        version=__version__,
        # FastAPI's own pages load scripts from a CDN; `pages.py` serves /docs instead.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers=problems.handlers(),
        lifespan=_lifespan(tenants, authenticator),
        middleware=_layers(authenticator, bounds),
    )
    app.state.data_folder = settings.data_dir if settings.database_url is None else None
    app.include_router(page_routes(app))
    add_routes(app, authenticator.require)
    app.include_router(stream_routes(authenticator, streams))
    app.include_router(health_routes(tenants, settings))
    app.include_router(metrics_routes(tenants, None if settings.metrics_public else authenticator.require))
    app.openapi = lambda: describe(app, reading=READING)  # type: ignore[method-assign]
    return ServerApp(app, authenticator, streams, bounds)


def mount_mcp(app: FastAPI, mcp_app: ASGIApp) -> None:
    """Serve the MCP app at `/mcp`, behind the same middleware as every other route."""
    app.router.routes.append(Route(MCP, _AsgiEndpoint(mcp_app), include_in_schema=False))


@dataclass(frozen=True)
class _AsgiEndpoint:
    """An ASGI app as the endpoint of a route; Starlette would take a plain function for a request handler."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


def _layers(authenticator: Authenticator, limits: ServerLimits) -> list[Middleware]:
    return [
        Middleware(RequestContextMiddleware, limits=limits, batches=BATCHES | EXPORTS, endless=ENDLESS),
        Middleware(GZipMiddleware, minimum_size=COMPRESSED_MIN_BYTES, compresslevel=COMPRESSION_LEVEL),
        Middleware(AuthenticationMiddleware, authenticator=authenticator, endless=ENDLESS),
        Middleware(BodyMiddleware, limits=limits, batches=BATCHES),
        Middleware(
            IdempotencyMiddleware, open_database=authenticator.database_of, reading=READING, batches=BATCHES
        ),
        Middleware(AuditMiddleware),
    ]


def _lifespan(
    tenants: Tenants, authenticator: Authenticator
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        """Write the last use of keys periodically, and once more at the end."""
        writing = asyncio.create_task(
            authenticator.uses.write_regularly(tenants.database), name="mnemic key uses"
        )
        try:
            yield
        finally:
            await cancel_and_wait(writing)
            await authenticator.uses.write(tenants.database)

    return lifespan
