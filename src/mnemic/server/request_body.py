"""Request bodies: JSON within limits, plain or compressed by gzip, and sent without long pauses.

The middleware reads a body whole before the route is called, and counts it while reading: a wrong length,
endless chunks or a small body that decompresses to a large one cannot exceed the limit. A batch is not read
in advance: its route reads it as it arrives, under a limit of its own.

======  ==========================================================================
status  when
======  ==========================================================================
400     a compressed body that cannot be decompressed, or with data after its end
408     the client paused for longer than `body_pause_s`
413     the body, decompressed, is larger than the limit
415     a media type other than JSON, a compression other than gzip
======  ==========================================================================
"""

import asyncio
import zlib
from dataclasses import dataclass
from typing import Protocol

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemic.server.limits import ServerLimits
from mnemic.server.request_context import ClientDisconnectedError, raw_path

JSON = "application/json"
LINES = "application/x-ndjson"
GZIP_WINDOW_BITS = 31
GUARDED = "/v1/"


class ContentDecoder(Protocol):
    """Decodes a `Content-Encoding`, with a limit on its output."""

    def decode(self, data: bytes, *, max_bytes: int) -> bytes:
        """The next part, decoded: at most `max_bytes`, plus one byte if there is more."""
        ...

    def end(self) -> None:
        """Raise if the body is incomplete."""
        ...


class IdentityDecoder:
    """A body that is not compressed."""

    def decode(self, data: bytes, *, max_bytes: int) -> bytes:
        return data[: max_bytes + 1]

    def end(self) -> None:
        return


class GzipDecoder:
    """A body compressed by gzip. It is never decompressed beyond the limit."""

    def __init__(self) -> None:
        self._decompressor = zlib.decompressobj(GZIP_WINDOW_BITS)

    def decode(self, data: bytes, *, max_bytes: int) -> bytes:
        try:
            decoded = self._decompressor.decompress(data, max_bytes + 1)
        except zlib.error:
            raise HTTPException(400) from None
        if self._decompressor.unused_data:
            raise HTTPException(400)
        return decoded

    def end(self) -> None:
        if not self._decompressor.eof:
            raise HTTPException(400)


@dataclass
class Body:
    """A body that is being read, within limits."""

    receive: Receive
    decoder: ContentDecoder
    max_bytes: int
    pause_s: float
    size_bytes: int = 0
    has_ended: bool = False

    async def part(self) -> bytes:
        """The next part, decoded; `has_ended` says whether it was the last."""
        message = await self._next_message()
        decoded = self.decoder.decode(message.get("body", b""), max_bytes=self.max_bytes - self.size_bytes)
        self.size_bytes += len(decoded)
        if self.size_bytes > self.max_bytes:
            raise _too_large(self.max_bytes)
        if not message.get("more_body", False):
            self.has_ended = True
            if self.size_bytes:
                self.decoder.end()
        return decoded

    async def whole(self) -> bytes:
        """The whole body."""
        parts = []
        while not self.has_ended:
            parts.append(await self.part())
        return b"".join(parts)

    async def message(self) -> Message:
        """The next part as an ASGI message; after the last one, the client's next message (disconnect)."""
        if self.has_ended:
            return await self.receive()
        part = await self.part()
        return {"type": "http.request", "body": part, "more_body": not self.has_ended}

    async def _next_message(self) -> Message:
        try:
            async with asyncio.timeout(self.pause_s):
                message = await self.receive()
        except TimeoutError:
            raise HTTPException(
                408,
                f"The body is incomplete: no data for {self.pause_s:.0f} s.",
                headers={"Connection": "close"},
            ) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnectedError
        return message


class BodyMiddleware:
    """Reads bodies for the routes behind it."""

    def __init__(self, app: ASGIApp, *, limits: ServerLimits, batches: frozenset[str]) -> None:
        self._app = app
        self._limits = limits
        self._batches = batches

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request whose body is within the limits."""
        if scope["type"] != "http" or not scope["path"].startswith(GUARDED):
            await self._app(scope, receive, send)
            return
        is_batch = raw_path(scope) in self._batches
        body = self._open(Headers(scope=scope), receive, is_batch=is_batch)
        if is_batch:
            await self._app(scope, body.message, send)
        else:
            await self._app(scope, _replayed(await body.whole(), receive), send)

    def _open(self, headers: Headers, receive: Receive, *, is_batch: bool) -> Body:
        max_bytes = self._limits.max_batch_bytes if is_batch else self._limits.max_request_bytes
        if _has_body(headers):
            _check_media_type(headers, LINES if is_batch else JSON)
            _check_length(headers, max_bytes)
        return Body(receive, _decoder(headers), max_bytes, self._limits.body_pause_s)


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _check_media_type(headers: Headers, expected: str) -> None:
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != expected:
        raise HTTPException(415, f"The body must be {expected}, and the header Content-Type must say so.")


def _check_length(headers: Headers, max_bytes: int) -> None:
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > max_bytes:
        raise _too_large(max_bytes)


def _decoder(headers: Headers) -> ContentDecoder:
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding == "gzip":
        return GzipDecoder()
    if encoding != "identity":
        raise HTTPException(415, "The body must be uncompressed or compressed by gzip.")
    return IdentityDecoder()


def _too_large(max_bytes: int) -> HTTPException:
    return HTTPException(413, f"The body is too large: the limit is {max_bytes:,} bytes, decompressed.")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns a body that was already read, then the client's next messages."""
    waiting = [body]

    async def replay() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return replay
