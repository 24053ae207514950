"""The outermost middleware: normalized path, request id, timeout, security headers, access log, errors.

The log names the route by its template (`/v1/memories/{memory_id}`). It never has the path, the query,
headers or bodies as they were sent, because those hold names, contents and keys.
"""

import asyncio
import logging
import re
from time import perf_counter
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemic.server.limits import HEADERS_MAX_BYTES, ServerLimits
from mnemic.server.paths import Target, normalize_path, target_of
from mnemic.server.problems import problem, problem_of

GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
UNKNOWN_ROUTE = "unknown"
CLIENT_DISCONNECTED_STATUS = 499
TIMED_OUT = "The request took longer than the server allows. Ask for less, or try again later."
SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

logger = logging.getLogger("mnemic.access")


class ClientDisconnectedError(Exception):
    """The client disconnected before its request was read; no response can be sent."""


class RequestContextMiddleware:
    """Gives every request its context, and turns every error into a response."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: ServerLimits,
        batches: frozenset[Target],
        endless: frozenset[Target],
    ) -> None:
        self._app = app
        self._limits = limits
        self._batches = batches
        self._endless = endless

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        normalize_path(scope)
        recorder = ResponseRecorder(send, _request_id(scope))
        scope.setdefault("state", {})["request_id"] = recorder.request_id
        began_s = perf_counter()
        try:
            await self._answer(scope, receive, recorder)
        finally:
            _log(scope, recorder, duration_ms=(perf_counter() - began_s) * 1000)

    async def _answer(self, scope: Scope, receive: Receive, recorder: "ResponseRecorder") -> None:
        request = Request(scope)
        try:
            async with asyncio.timeout(self._timeout_s(target_of(scope))) as deadline:
                _check_headers(scope)
                await self._app(scope, receive, recorder.send)
        except ClientDisconnectedError:
            recorder.status = CLIENT_DISCONNECTED_STATUS
        except Exception as error:
            if recorder.status is not None:
                logger.exception("request %s failed while its response was sent", recorder.request_id)
                raise
            timed_out = isinstance(error, TimeoutError) and deadline.expired()
            response = (
                problem(request, 504, TIMED_OUT, error="QueryTimeoutError")
                if timed_out
                else problem_of(request, error)
            )
            await response(scope, receive, recorder.send)

    def _timeout_s(self, target: Target) -> float | None:
        if target in self._endless:
            return None
        return self._limits.batch_timeout_s if target in self._batches else self._limits.request_timeout_s


class ResponseRecorder:
    """Sends a response: records its status, adds the headers that every response has."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self.request_id = request_id
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        """Pass on a part of the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self.request_id
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


def _check_headers(scope: Scope) -> None:
    """Checks that the protocol does not make: the size of a head that came in one piece, and one Host."""
    headers = scope["headers"]
    if len(scope["raw_path"]) + len(scope["query_string"]) > HEADERS_MAX_BYTES:
        raise HTTPException(414, f"The path is too long: the limit is {HEADERS_MAX_BYTES:,} bytes.")
    if sum(len(name) + len(value) for name, value in headers) > HEADERS_MAX_BYTES:
        raise HTTPException(431, f"The headers are too large: the limit is {HEADERS_MAX_BYTES:,} bytes.")
    host_count = sum(name == b"host" for name, _ in headers)
    if host_count > 1 or (not host_count and scope["http_version"] == "1.1"):
        raise HTTPException(400, "The header Host must be given once.")


def _request_id(scope: Scope) -> str:
    """The client's id for the request if it is safe to log, otherwise a new one."""
    given = Headers(scope=scope).get("x-request-id", "")
    return given if GIVEN_ID.fullmatch(given) else uuid4().hex


def _log(scope: Scope, recorder: ResponseRecorder, *, duration_ms: float) -> None:
    route = getattr(scope.get("route"), "path", UNKNOWN_ROUTE)
    found = scope["state"].get("found_key")
    fields = {
        "request_id": recorder.request_id,
        "method": scope["method"],
        "route": route,
        "status": recorder.status,
        "duration_ms": round(duration_ms, 1),
        "key_id": str(found.key.key_id) if found is not None else None,
    }
    logger.info("%s %s %s %.1f ms", scope["method"], route, recorder.status, duration_ms, extra=fields)
