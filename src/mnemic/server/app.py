"""The server as one ASGI app, from the outside in.

front         an id, a time limit, safe headers, a line in the log, an answer whatever happens
compression   of answers
admission     the API key, and how often it may recall
bodies        size, pace, compression, media type
idempotency   repeated writes
auditing      admin calls that change something
routes        one for each call of the SDK (`routes.py`), health, metrics, the stream of events, MCP
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
from mnemic.server.admission import MCP, Admission, AdmissionMiddleware
from mnemic.server.auditing import AuditMiddleware
from mnemic.server.bodies import BodyMiddleware
from mnemic.server.front import FrontMiddleware
from mnemic.server.health import health_routes
from mnemic.server.idempotency import IdempotencyMiddleware
from mnemic.server.limits import COMPRESSED_MIN_BYTES, COMPRESSION_LEVEL, ServerLimits, limits_of
from mnemic.server.metrics import metrics_routes
from mnemic.server.openapi import describe
from mnemic.server.routes import add_routes
from mnemic.server.stream import ROUTE as STREAM
from mnemic.server.stream import Streams, stream_routes

BATCHES = frozenset({ROUTES["retain_many"].path})
READING = frozenset(route.path for route in SURFACE if route.method == "POST" and route.role == "read")
ENDLESS = frozenset({STREAM.path, MCP})


@dataclass(frozen=True)
class Served:
    """What a server is made of: its app, who is let in, and the streams to end when it stops."""

    app: FastAPI
    admission: Admission
    streams: Streams


def build_app(tenants: Tenants, settings: Settings, *, limits: ServerLimits | None = None) -> Served:
    """The app over an open place. `limits` are those of the settings, unless others are given."""
    bounds = limits if limits is not None else limits_of(settings)
    admission = Admission(tenants, recall_rate_per_minute=bounds.recall_rate_per_minute)
    streams = Streams(bounds)
    app = FastAPI(
        title="Mnemic",
        version=__version__,
        # Its pages load scripts from elsewhere; the document itself is at /openapi.json.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers=problems.handlers(),
        lifespan=_lifespan(tenants, admission),
        middleware=_layers(admission, bounds),
    )
    app.include_router(health_routes(tenants))
    app.include_router(metrics_routes(tenants, None if settings.metrics_public else admission.admit))
    app.include_router(stream_routes(admission, streams))
    add_routes(app, admission.admit)
    app.openapi = lambda: describe(app, reading=READING)  # type: ignore[method-assign]
    return Served(app, admission, streams)


def mount_mcp(app: FastAPI, mcp_app: ASGIApp) -> None:
    """Serve the MCP app at `/mcp`, under the key and the layers of all others."""
    app.router.routes.append(Route(MCP, _Whole(mcp_app), include_in_schema=False))


@dataclass(frozen=True)
class _Whole:
    """An ASGI app as a route wants it: no function, so that it is not taken for a handler."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


def _layers(admission: Admission, limits: ServerLimits) -> list[Middleware]:
    return [
        Middleware(FrontMiddleware, limits=limits, batches=BATCHES, endless=ENDLESS),
        Middleware(GZipMiddleware, minimum_size=COMPRESSED_MIN_BYTES, compresslevel=COMPRESSION_LEVEL),
        Middleware(AdmissionMiddleware, admission=admission),
        Middleware(BodyMiddleware, limits=limits, batches=BATCHES),
        Middleware(
            IdempotencyMiddleware, open_database=admission.database_of, reading=READING, batches=BATCHES
        ),
        Middleware(AuditMiddleware),
    ]


def _lifespan(
    tenants: Tenants, admission: Admission
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        """Write the last uses of keys now and then, and once more at the end."""
        writing = asyncio.create_task(
            admission.uses.write_regularly(tenants.database), name="mnemic key uses"
        )
        try:
            yield
        finally:
            await cancel_and_wait(writing)
            await admission.uses.write(tenants.database)

    return lifespan
