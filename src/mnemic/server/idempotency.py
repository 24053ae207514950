"""Idempotent writes: a request with the header `Idempotency-Key` is carried out once.

A client that got no answer sends the same request with the same key again, and gets the first response with
`Idempotency-Replayed: true`. While the first request is running, its repetitions get 409; the same key with
another body gets 422. Responses are kept for a day, and only successful ones: a failed request wrote nothing
and may be repeated. If a response contains a secret (`Cache-Control: no-store`), the server keeps only the
fact that it succeeded. `govern/idempotent_requests.py` describes the states.

The client chooses the key. It is scoped to everything outside the body that changes what a request means:
the API key (and so the tenant), the method, the path with its query, and the scope, which is the owner, the
channel and the process. The owner may also be a field of the body. So two owners may choose the same key, and
neither gets the other's answer. Within one scope, another body is another request, which gets 422.
"""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, unquote, unquote_to_bytes
from uuid import UUID

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemic.db.database import TenantDatabase
from mnemic.errors import ConflictError, InvalidInputError, MnemicError
from mnemic.govern import idempotent_requests
from mnemic.govern.idempotent_requests import IdempotentRequest, StartedAttempt, StoredResponse
from mnemic.govern.keys import AuthenticatedKey
from mnemic.sdk.http.connection import CHANNEL_HEADER, OWNER_HEADER, PROCESS_HEADER
from mnemic.server.paths import Target, target_of
from mnemic.server.problems import problem
from mnemic.server.request_context import ClientDisconnectedError
from mnemic.types.scope import check_name

GUARDED = "/v1/"
HEADER = "idempotency-key"
REPLAYED = {"Idempotency-Replayed": "true"}
KEY_PATTERN = re.compile(r"[\x21-\x7e]{1,255}")
WRITE_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
RETRY_AFTER_S = 1

logger = logging.getLogger("mnemic.server")

OpenDatabase = Callable[[Scope], Awaitable[TenantDatabase]]
"""Returns the database of the tenant of a request's key."""


class IdempotencyMiddleware:
    """Records responses to writes that carry a key; `reading` are the requests that only read."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        open_database: OpenDatabase,
        reading: frozenset[Target],
        batches: frozenset[Target],
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
        # A batch names its owner outside its body. Other bodies have been read already (`request_body.py`).
        body = HashedBody(receive)
        owner = None if target_of(scope) in self._batches else await body.read_owner()
        request = _repeatable(scope, found, key, body_owner=owner)
        database = await self._open_database(scope)
        state = await idempotent_requests.begin(database, request)
        if isinstance(state, StartedAttempt):
            attempt = RecordedExecution(database, request, state.attempt_id, body, send)
            await attempt.carry_out(lambda send: self._app(scope, body.receive, send))
        else:
            answer = await _replay(Request(scope), state, body)
            await answer(scope, receive, send)

    def _writes(self, scope: Scope) -> bool:
        method, path = target = target_of(scope)
        return method in WRITE_METHODS and path.startswith(GUARDED) and target not in self._reading


@dataclass
class HashedBody:
    """A body that is hashed while the route reads it."""

    source: Receive
    has_ended: bool = False
    read_ahead: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._hash = sha256()

    async def receive(self) -> Message:
        """Pass on the next part."""
        return self.read_ahead.pop(0) if self.read_ahead else await self._next()

    async def read_owner(self) -> str | None:
        """Read the whole body, which `receive` then passes on; returns the owner that it names, if any."""
        while not self.has_ended:
            self.read_ahead.append(await self._next_part())
        return _owner_in(b"".join(message.get("body", b"") for message in self.read_ahead))

    async def digest(self) -> bytes:
        """The hash of the whole body; reads the rest if the route did not."""
        while not self.has_ended:
            await self._next_part()
        return self._hash.digest()

    async def _next_part(self) -> Message:
        message = await self._next()
        if message["type"] == "http.disconnect":
            raise ClientDisconnectedError
        return message

    async def _next(self) -> Message:
        message = await self.source()
        if message["type"] == "http.request" and not self.has_ended:
            self._hash.update(message.get("body", b""))
            self.has_ended = not message.get("more_body", False)
        return message


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
            async with self._renewed():
                await call(self._hold)
            is_recorded = await self._record()
        finally:
            if not is_recorded:
                await idempotent_requests.abandon(self.database, self.request, self.attempt_id)
        if self.start is not None:
            await self.send(self.start)
            await self.send({"type": "http.response.body", "body": bytes(self.answer)})

    @asynccontextmanager
    async def _renewed(self) -> AsyncIterator[None]:
        """Renew the attempt while the block runs."""
        renewing = asyncio.create_task(self._renew())
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(idempotent_requests.RENEW_EVERY_S)
            try:
                await idempotent_requests.renew(self.database, self.request, self.attempt_id)
            except MnemicError as error:
                # The request goes on. If the database stays away, it fails by itself.
                logger.warning("a running request could not be renewed: %s", error)

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
        await idempotent_requests.finish(self.database, self.request, self.attempt_id, answer)
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


def _repeatable(
    scope: Scope, found: AuthenticatedKey, key: str, *, body_owner: str | None
) -> IdempotentRequest:
    if KEY_PATTERN.fullmatch(key) is None:
        raise InvalidInputError("Idempotency-Key must be 1 to 255 visible ASCII characters.")
    owner = found.key.owner or body_owner or _named_owner(scope)
    parts = (
        " ".join(target_of(scope)).encode("latin-1"),
        scope["query_string"],
        (owner or "").encode(),
        _header(scope, CHANNEL_HEADER),
        _header(scope, PROCESS_HEADER),
        key.encode(),
    )
    digests = b"".join(sha256(part).digest() for part in parts)
    return IdempotentRequest(found.key.key_id, sha256(digests).digest(), owner)


def _header(scope: Scope, name: str) -> bytes:
    """The value of a scope header, percent-decoded as the route does."""
    return unquote_to_bytes(Headers(scope=scope).get(name, ""))


def _named_owner(scope: Scope) -> str | None:
    """The owner that a request names outside its body: in the query or in the scope headers."""
    (named, *_) = parse_qs(scope["query_string"].decode("latin-1")).get("owner", [None])
    return _name(named) or _name(unquote(Headers(scope=scope).get(OWNER_HEADER, "")))


def _owner_in(body: bytes) -> str | None:
    """The owner that a JSON body names, if any; the route refuses a body that is not JSON."""
    try:
        content: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return _name(content.get("owner")) if isinstance(content, dict) else None


def _name(value: object) -> str | None:
    """A valid owner name, or None; the route refuses an invalid one."""
    try:
        return check_name("owner", value)
    except InvalidInputError:
        return None
