"""Writes that may be repeated: a request with the header `Idempotency-Key` is carried out once.

Who sends the same request with the same word again, because the answer got lost, gets the first answer,
with `Idempotency-Replayed: true`. While the first is under way, others get 409; the same word with another
body is a mistake of the caller, 422. Answers are kept for a day, and only those that succeeded: what failed
has written nothing and may be tried again. Where an answer tells a secret (`Cache-Control: no-store`), only
that it was given is kept. `govern/idempotent_requests.py` has the states.

The word is the caller's own: it counts for one API key, one method and one path with its query.
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
from mnemic.govern.idempotent_requests import Answer, Begun, Repeatable
from mnemic.govern.keys import FoundKey
from mnemic.sdk.http.connection import OWNER_HEADER
from mnemic.server.problems import problem
from mnemic.server.request_context import ClientDisconnectedError, raw_path
from mnemic.types.scope import check_name

GUARDED = "/v1/"
HEADER = "idempotency-key"
REPLAYED = {"Idempotency-Replayed": "true"}
WORD = re.compile(r"[\x21-\x7e]{1,255}")
WRITING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
RETRY_AFTER_S = 1

OpenDatabase = Callable[[Scope], Awaitable[TenantDatabase]]
"""Gives the database as the tenant of a request's key sees it."""


class IdempotencyMiddleware:
    """Stands between the body and the routes that write; `reading` are POSTs that do not."""

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
        """Carry a request out, or answer as the first time."""
        found: FoundKey | None = scope.get("state", {}).get("found_key")
        word = Headers(scope=scope).get(HEADER) if scope["type"] == "http" else None
        if word is None or found is None or not self._writes(scope):
            await self._app(scope, receive, send)
            return
        body = HashedBody(receive, keeps=raw_path(scope) not in self._batches)
        database, request = await self._open_database(scope), _repeatable(scope, found, word)
        state = await idempotent_requests.begin(database, request)
        if isinstance(state, Begun):
            attempt = RecordedExecution(database, request, state.attempt_id, body, send)
            await attempt.carry_out(lambda send: self._app(scope, body.receive, send))
        else:
            answer = await _known(Request(scope), state, body)
            await answer(scope, receive, send)

    def _writes(self, scope: Scope) -> bool:
        path = raw_path(scope)
        return scope["method"] in WRITING and path.startswith(GUARDED) and path not in self._reading


@dataclass
class HashedBody:
    """A body on its way to the route: hashed, and kept where it is small."""

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
        """The hash of all of it; what nobody has read yet is read."""
        while not self.has_ended:
            if (await self.receive())["type"] == "http.disconnect":
                raise ClientDisconnectedError
        return self._hash.digest()

    def owner(self) -> str | None:
        """Whom the body says it is about, if it says so."""
        try:
            content: Any = json.loads(bytes(self.content))
        except (ValueError, RecursionError):
            return None
        return _name(content.get("owner")) if isinstance(content, dict) else None


@dataclass
class RecordedExecution:
    """The request is being carried out; the answer goes out when it is kept."""

    database: TenantDatabase
    request: Repeatable
    attempt_id: UUID
    body: HashedBody
    send: Send
    start: Message | None = None
    answer: bytearray = field(default_factory=bytearray)

    async def carry_out(self, call: Callable[[Send], Awaitable[None]]) -> None:
        """Call the route, keep its answer if it succeeded, forget the request if not."""
        is_kept = False
        try:
            await call(self._hold)
            is_kept = await self._keep()
        finally:
            if not is_kept:
                await idempotent_requests.abandon(self.database, self.request, self.attempt_id)
        if self.start is not None:
            await self.send(self.start)
            await self.send({"type": "http.response.body", "body": bytes(self.answer)})

    async def _hold(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.start = message
        elif message["type"] == "http.response.body":
            self.answer += message.get("body", b"")

    async def _keep(self) -> bool:
        if self.start is None or not 200 <= self.start["status"] < 300:
            return False
        headers = Headers(raw=self.start["headers"])
        content = None if headers.get("cache-control") == "no-store" else bytes(self.answer)
        answer = Answer(await self.body.digest(), self.start["status"], headers.get("content-type"), content)
        owner = self.body.owner() or self.request.owner
        await idempotent_requests.finish(self.database, self.request, self.attempt_id, answer, owner=owner)
        return True


async def _known(request: Request, state: Answer | str, body: HashedBody) -> Response:
    """The answer to a request that somebody makes or made already."""
    if not isinstance(state, Answer):
        return problem(
            request,
            409,
            "A request with this Idempotency-Key is under way. Wait for it, or ask again.",
            error=ConflictError.__name__,
            headers={"Retry-After": str(RETRY_AFTER_S)},
        )
    if await body.digest() != state.body_hash:
        raise InvalidInputError("This Idempotency-Key was used with another body. Use a new one.")
    if state.body is None:
        raise ConflictError(
            "This request succeeded before. Its answer was not kept: it was too large, or told a secret."
        )
    return Response(state.body, state.status, headers=REPLAYED, media_type=state.content_type)


def _repeatable(scope: Scope, found: FoundKey, word: str) -> Repeatable:
    if WORD.fullmatch(word) is None:
        raise InvalidInputError("Idempotency-Key must be 1 to 255 visible ASCII characters.")
    route = f"{scope['method']} {raw_path(scope)}"
    parts = (route.encode("latin-1"), scope["query_string"], word.encode())
    digests = b"".join(sha256(part).digest() for part in parts)
    return Repeatable(found.key.key_id, sha256(digests).digest(), found.key.owner or _named_owner(scope))


def _named_owner(scope: Scope) -> str | None:
    """Whom a request names outside of its body: the query, or the scope in its headers."""
    (named, *_) = parse_qs(scope["query_string"].decode("latin-1")).get("owner", [None])
    return _name(named) or _name(unquote(Headers(scope=scope).get(OWNER_HEADER, "")))


def _name(value: object) -> str | None:
    """An owner as the database takes it; what is none is left to the route to refuse."""
    try:
        return check_name("owner", value)
    except InvalidInputError:
        return None
