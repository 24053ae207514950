"""Idempotent writes: a request with the header `Idempotency-Key` is carried out once.

A client that got no answer sends the same request with the same key again, and gets the first response with
`Idempotency-Replayed: true`. While the first request is running, its repetitions get 409; the same key with
another body gets 422. Responses are kept for a day, and only successful ones: a failed request wrote nothing
and may be repeated. If a response contains a secret (`Cache-Control: no-store`), the server keeps only the
fact that it succeeded. `govern/idempotent_requests.py` describes the states.

The client chooses the key. It is scoped to one API key, one method and one path with its query.
"""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, unquote
from uuid import UUID

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemic.db.database import TenantDatabase
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.govern import idempotent_requests
from mnemic.govern.idempotent_requests import IdempotentRequest, StartedAttempt, StoredResponse
from mnemic.govern.keys import AuthenticatedKey
from mnemic.sdk.http.connection import OWNER_HEADER
from mnemic.server.problems import problem
from mnemic.server.request_context import ClientDisconnectedError, raw_path
from mnemic.types.scope import check_name

GUARDED = "/v1/"
HEADER = "idempotency-key"
REPLAYED = {"Idempotency-Replayed": "true"}
KEY_PATTERN = re.compile(r"[\x21-\x7e]{1,255}")
WRITE_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
RETRY_AFTER_S = 1

OpenDatabase = Callable[[Scope], Awaitable[TenantDatabase]]
"""Returns the database of the tenant of a request's key."""


class IdempotencyMiddleware:
    """Records responses to writes that carry a key; `reading` are the paths of POSTs that only read."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        open_database: OpenDatabase,
        reading: frozenset[str],
        batches: frozenset[str],
    ) -> None:
        self._app = app
        self._open_database = open_database
        self._reading = reading
        self._batches = batches

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Carry a request out, or replay its first response."""
        found: AuthenticatedKey | None = scope.get("state", {}).get("found_key")
        key = Headers(scope=scope).get(HEADER) if scope["type"] == "http" else None
        if key is None or found is None or not self._writes(scope):
            await self._app(scope, receive, send)
            return
        body = HashedBody(receive, keeps=raw_path(scope) not in self._batches)
        database, request = await self._open_database(scope), _repeatable(scope, found, key)
        state = await idempotent_requests.begin(database, request)
        if isinstance(state, StartedAttempt):
            attempt = RecordedExecution(database, request, state.attempt_id, body, send)
            await attempt.carry_out(lambda send: self._app(scope, body.receive, send))
        else:
            answer = await _replay(Request(scope), state, body)
            await answer(scope, receive, send)

    def _writes(self, scope: Scope) -> bool:
        path = raw_path(scope)
        return scope["method"] in WRITE_METHODS and path.startswith(GUARDED) and path not in self._reading


@dataclass
class HashedBody:
    """A body that is hashed while the route reads it, and kept in memory unless it is a batch."""

    source: Receive
    keeps: bool
    has_ended: bool = False
    content: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._hash = sha256()

    async def receive(self) -> Message:
        """Pass on the next part."""
        message = await self.source()
        if message["type"] == "http.request" and not self.has_ended:
            self._hash.update(message.get("body", b""))
            if self.keeps:
                self.content += message.get("body", b"")
            self.has_ended = not message.get("more_body", False)
        return message

    async def digest(self) -> bytes:
        """The hash of the whole body; reads the rest if the route did not."""
        while not self.has_ended:
            if (await self.receive())["type"] == "http.disconnect":
                raise ClientDisconnectedError
        return self._hash.digest()

    def owner(self) -> str | None:
        """The owner that the body names, if any."""
        try:
            content: Any = json.loads(bytes(self.content))
        except (ValueError, RecursionError):
            return None
        return _name(content.get("owner")) if isinstance(content, dict) else None


@dataclass
class RecordedExecution:
    """One execution of a request: its response is sent after it has been recorded."""

    database: TenantDatabase
    request: IdempotentRequest
    attempt_id: UUID
    body: HashedBody
    send: Send
    start: Message | None = None
    answer: bytearray = field(default_factory=bytearray)

    async def carry_out(self, call: Callable[[Send], Awaitable[None]]) -> None:
        """Call the route; record its response if it succeeded, otherwise abandon the request."""
        is_recorded = False
        try:
            await call(self._hold)
            is_recorded = await self._record()
        finally:
            if not is_recorded:
                await idempotent_requests.abandon(self.database, self.request, self.attempt_id)
        if self.start is not None:
            await self.send(self.start)
            await self.send({"type": "http.response.body", "body": bytes(self.answer)})

    async def _hold(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.start = message
        elif message["type"] == "http.response.body":
            self.answer += message.get("body", b"")

    async def _record(self) -> bool:
        if self.start is None or not 200 <= self.start["status"] < 300:
            return False
        headers = Headers(raw=self.start["headers"])
        content = None if headers.get("cache-control") == "no-store" else bytes(self.answer)
        answer = StoredResponse(
            await self.body.digest(), self.start["status"], headers.get("content-type"), content
        )
        owner = self.body.owner() or self.request.owner
        await idempotent_requests.finish(self.database, self.request, self.attempt_id, answer, owner=owner)
        return True


async def _replay(request: Request, state: StoredResponse | str, body: HashedBody) -> Response:
    """The response to a repetition: the recorded one, or 409 while the first request is running."""
    if not isinstance(state, StoredResponse):
        return problem(
            request,
            409,
            "A request with this Idempotency-Key is running. Wait a little, then send it again.",
            error=ConflictError.__name__,
            headers={"Retry-After": str(RETRY_AFTER_S)},
        )
    if await body.digest() != state.body_hash:
        raise InvalidInputError("This Idempotency-Key was used with another body. Use a new one.")
    if state.body is None:
        raise ConflictError(
            "This request has already succeeded. Its answer was not kept: it is too large, or has a secret."
        )
    return Response(state.body, state.status, headers=REPLAYED, media_type=state.content_type)


def _repeatable(scope: Scope, found: AuthenticatedKey, key: str) -> IdempotentRequest:
    if KEY_PATTERN.fullmatch(key) is None:
        raise InvalidInputError("Idempotency-Key must be 1 to 255 visible ASCII characters.")
    route = f"{scope['method']} {raw_path(scope)}"
    parts = (route.encode("latin-1"), scope["query_string"], key.encode())
    digests = b"".join(sha256(part).digest() for part in parts)
    return IdempotentRequest(
        found.key.key_id, sha256(digests).digest(), found.key.owner or _named_owner(scope)
    )


def _named_owner(scope: Scope) -> str | None:
    """The owner that a request names outside its body: in the query or in the scope headers."""
    (named, *_) = parse_qs(scope["query_string"].decode("latin-1")).get("owner", [None])
    return _name(named) or _name(unquote(Headers(scope=scope).get(OWNER_HEADER, "")))


def _name(value: object) -> str | None:
    """A valid owner name, or None; the route refuses an invalid one."""
    try:
        return check_name("owner", value)
    except InvalidInputError:
        return None
