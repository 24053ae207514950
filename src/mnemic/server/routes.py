"""One route for each call of the SDK, built from `mnemic.sdk.http.surface` and the call's signature.

A route reads the arguments from the request, makes the call on the memory of the API key, and writes the
response. `authorisation.py` decides which keys may make it.
"""

import json
import re
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import IO, Any
from urllib.parse import unquote, unquote_to_bytes

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import Scope

from mnemic.errors import InvalidInputError
from mnemic.sdk.http.connection import CHANNEL_HEADER, OWNER_HEADER, PROCESS_HEADER
from mnemic.sdk.http.surface import SURFACE, WHO_AM_I, Route
from mnemic.sdk.http.wire import JSON_MEDIA_TYPE, Call, find_call
from mnemic.sdk.memory import AsyncMemory
from mnemic.server.authentication import AuthenticatedCaller, Require
from mnemic.server.authorisation import authorise
from mnemic.server.descriptions import describe_call
from mnemic.server.exports import send_export
from mnemic.server.openapi import ROLE
from mnemic.types.whoami import WhoAmI

STREAMED_ELSEWHERE = "events.subscribe"
IN_MEMORY_MAX_BYTES = 1 << 20
"""A batch above this size is spooled to a file until it is complete."""
EMPTY_LINES_MAX = 1_000
"""Empty lines that a batch may have: reading them takes time and stores nothing."""

WHO_AM_I_ROUTE = Route("whoami", "GET", WHO_AM_I, "read")
_WHO_AM_I = TypeAdapter(WhoAmI)

Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


def add_routes(app: FastAPI, require: Require) -> None:
    """Add a route for every call of the SDK."""
    for route in SURFACE:
        if route.call != STREAMED_ELSEWHERE:
            call = find_call(route, AsyncMemory)
            _add(app, route, _endpoint(call, require), describe_call(call))
    about = {
        "tags": ["memory"],
        "summary": "Whose key it is",
        "response_model": WhoAmI,
        "openapi_extra": {ROLE: "read"},
    }
    _add(app, WHO_AM_I_ROUTE, _who_am_i(require), about)


def _add(app: FastAPI, route: Route, endpoint: Endpoint, about: dict[str, Any]) -> None:
    app.router.add_api_route(
        route.path,
        endpoint,
        methods=[route.method],
        name=route.call,
        operation_id=route.call.replace(".", "_"),
        route_class_override=ExactRoute,
        **about,
    )


class ExactRoute(APIRoute):
    """A route that compares the normalized path, in which `%2F` is part of a name (`paths.py`).

    Its endpoint takes the request and returns the response; FastAPI only describes it.
    """

    def __init__(self, path: str, endpoint: Endpoint, **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self.path_regex = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]*)", path))

    def get_route_handler(self) -> Endpoint:
        """The endpoint itself: FastAPI neither parses its request nor serializes its response."""
        return self.endpoint

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match a request by its normalized path; path parameters stay percent-encoded."""
        if scope["type"] != "http":
            return Match.NONE, {}
        found = self.path_regex.fullmatch(scope["path"])
        if found is None:
            return Match.NONE, {}
        child = {"endpoint": self.endpoint, "path_params": found.groupdict(), "route": self}
        is_full = scope["method"] in (self.methods or ())
        return (Match.FULL if is_full else Match.PARTIAL), child


def _endpoint(call: Call, require: Require) -> Endpoint:
    authenticate = require(call.route)

    async def endpoint(request: Request) -> Response:
        caller = await authenticate(request)
        body = b"" if call.route.is_stream else await request.body()
        path = {name: _decoded(name, text) for name, text in request.path_params.items()}
        arguments = call.arguments(path, request.query_params.multi_items(), body)
        memory = scoped_memory(caller, request.headers, call.route, arguments)
        if call.route.returns_file:
            return await send_export(lambda path: call.run(memory, arguments | {"path": path}))
        if not call.route.is_stream:
            keeps_nulls = call.keeps_nulls(request.query_params)
            return _answered(call, await call.run(memory, arguments), keeps_nulls=keeps_nulls)
        with tempfile.SpooledTemporaryFile(IN_MEMORY_MAX_BYTES) as file:
            async for part in request.stream():
                file.write(part)
            file.seek(0)
            return _answered(call, await call.run(memory, arguments | {"items": _items(file)}))

    return endpoint


def scoped_memory(
    caller: AuthenticatedCaller, headers: Headers, route: Route, arguments: Mapping[str, Any]
) -> AsyncMemory:
    """The memory in the scope that the request names; ForbiddenError if the key does not allow it."""
    scope = {
        name: _decoded(header, headers[header])
        for name, header in (
            ("owner", OWNER_HEADER),
            ("channel", CHANNEL_HEADER),
            ("process", PROCESS_HEADER),
        )
        if header in headers
    }
    authorise(caller.key, route, [scope.get("owner"), arguments.get("owner")])
    return caller.memory.scope(**scope)


def _who_am_i(require: Require) -> Endpoint:
    authenticate = require(WHO_AM_I_ROUTE)

    async def who_am_i(request: Request) -> Response:
        """The tenant and role of the API key, and the owner that it is bound to."""
        caller = await authenticate(request)
        tenant = caller.memory.tenant
        found = WhoAmI(tenant.id, tenant.name, caller.key.role, caller.owner)
        return Response(_WHO_AM_I.dump_json(found), media_type=JSON_MEDIA_TYPE)

    return who_am_i


def _answered(call: Call, answer: Any, *, keeps_nulls: bool = True) -> Response:
    if call.returns_nothing:
        return Response(status_code=204)
    headers = {"Cache-Control": "no-store"} if call.route.returns_secret else None
    # Only fields of ours are left out: null values in `metadata` belong to the caller and stay.
    content = call.response.dump_json(answer, exclude_none=not keeps_nulls)
    return Response(content, headers=headers, media_type=JSON_MEDIA_TYPE)


def _items(file: IO[bytes]) -> Iterator[Any]:
    """The items of a batch: one JSON value per line."""
    empty_count = 0
    for number, line in enumerate(file, start=1):
        if line.isspace():
            empty_count += 1
            if empty_count > EMPTY_LINES_MAX:
                raise InvalidInputError(
                    f"The batch has more than {EMPTY_LINES_MAX:,} empty lines. Nothing was stored."
                )
            continue
        try:
            # Decoded here: `json.loads` would also take UTF-16 and UTF-32.
            yield json.loads(line.decode())
        except (ValueError, RecursionError):
            raise InvalidInputError(f"Line {number} is not JSON. Nothing was stored.") from None


def _decoded(name: str, text: str) -> str:
    """A name from a path or a header, percent-decoded."""
    try:
        return unquote_to_bytes(text).decode() if text.isascii() else unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInputError(f"{name} is not valid UTF-8.") from None
