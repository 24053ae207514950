"""Request bodies: JSON within limits, plain or compressed by gzip, and sent without long pauses.

The middleware reads a body whole before the route is called, and counts it while reading: a wrong length,
endless chunks or a small body that decompresses to a large one cannot exceed the limit. A batch is not read
in advance: its route reads it as it arrives, under limits of its own for the whole and for a line. The limits
hold for every path that needs a key, `/mcp` included; the bodies of other paths are never read.

======  ==========================================================================
status  when
======  ==========================================================================
400     a compressed body that cannot be decompressed, or with data after its end
408     the client paused for longer than `body_pause_s`
429     the key, its tenant or the server holds as many bytes of bodies as it may
413     the body, or a line of a batch, decompressed, is larger than the limit;
        or it is compressed by more than `COMPRESSION_MAX_RATIO` times
415     a media type other than JSON, a compression other than gzip
======  ==========================================================================
"""

import asyncio
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemic.govern.keys import AuthenticatedKey
from mnemic.server.authentication import GUARDED
from mnemic.server.limits import ServerLimits
from mnemic.server.paths import Target, is_under, target_of
from mnemic.server.quota import Quota
from mnemic.server.request_context import ClientDisconnectedError

JSON = "application/json"
LINES = "application/x-ndjson"
GZIP_WINDOW_BITS = 31
RETRY_AFTER_S = 1.0
PIECE_MAX_BYTES = 64 * 1024
"""A body is decoded in pieces of this size."""
COMPRESSION_MAX_RATIO = 200
"""JSON compresses to a tenth, repetitive JSON to a fiftieth; a higher ratio is a decompression bomb."""
RATIO_CHECKED_MIN_BYTES = 1 << 20
"""The ratio of smaller bodies is not checked."""


class ContentDecoder(Protocol):
    """Decodes a `Content-Encoding`, piece by piece."""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """The next part of a body, decoded, in pieces of at most `PIECE_MAX_BYTES`."""
        ...

    def end(self) -> None:
        """Raise if the body is incomplete."""
        ...


class IdentityDecoder:
    """A body that is not compressed."""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), PIECE_MAX_BYTES):
            yield data[start : start + PIECE_MAX_BYTES]

    def end(self) -> None:
        return


class GzipDecoder:
    """A body compressed by gzip, by at most `COMPRESSION_MAX_RATIO` times."""

    def __init__(self) -> None:
        self._decompressor = zlib.decompressobj(GZIP_WINDOW_BITS)
        self._received_bytes = 0
        self._unpacked_bytes = 0

    def pieces(self, data: bytes) -> Iterator[bytes]:
        self._received_bytes += len(data)
        is_complete = not data
        while not is_complete:
            piece = self._decompress(data)
            data = self._decompressor.unconsumed_tail
            # A full piece may be followed by output that the decompressor still holds.
            is_complete = not data and len(piece) < PIECE_MAX_BYTES
            self._check_ratio(len(piece), consumed_bytes=self._received_bytes - len(data))
            yield piece

    def end(self) -> None:
        if self._received_bytes and not self._decompressor.eof:
            raise HTTPException(400)

    def _decompress(self, data: bytes) -> bytes:
        try:
            piece = self._decompressor.decompress(data, PIECE_MAX_BYTES)
        except zlib.error:
            raise HTTPException(400) from None
        if self._decompressor.unused_data:
            raise HTTPException(400)
        return piece

    def _check_ratio(self, piece_bytes: int, *, consumed_bytes: int) -> None:
        self._unpacked_bytes += piece_bytes
        if self._unpacked_bytes > max(RATIO_CHECKED_MIN_BYTES, COMPRESSION_MAX_RATIO * consumed_bytes):
            raise HTTPException(
                413,
                f"The body is compressed by more than {COMPRESSION_MAX_RATIO} times, which is the limit. "
                "Send it uncompressed, or in several requests.",
            )


@dataclass
class Body:
    """A body that is being read, within limits. A batch has a limit for its lines, too."""

    receive: Receive
    decoder: ContentDecoder
    max_bytes: int
    pause_s: float
    line_max_bytes: int | None = None
    size_bytes: int = 0
    line_bytes: int = 0
    held_bytes: int = 0
    has_ended: bool = False

    def __post_init__(self) -> None:
        self._pieces: Iterator[bytes] = iter(())
        self._is_last = False

    async def piece(self) -> bytes:
        """The next piece, decoded; `has_ended` says whether it was the last."""
        piece = next(self._pieces, None)
        while piece is None and not self._is_last:
            message = await self._next_message()
            self._is_last = not message.get("more_body", False)
            self._pieces = self.decoder.pieces(message.get("body", b""))
            piece = next(self._pieces, None)
        if piece is None:
            self.has_ended = True
            self.decoder.end()
            return b""
        self._count(piece)
        if len(piece) == PIECE_MAX_BYTES:
            # A long body takes a while to decode: other requests have their turn after each piece.
            await asyncio.sleep(0)
        return piece

    async def whole(self, on_piece: Callable[[int], None]) -> bytes:
        """The whole body. `on_piece` may refuse the size of a piece; `held_bytes` is what it allowed."""
        pieces = []
        while not self.has_ended:
            piece = await self.piece()
            on_piece(len(piece))
            self.held_bytes += len(piece)
            pieces.append(piece)
        return b"".join(pieces)

    async def message(self) -> Message:
        """The next piece as an ASGI message; after the last one, the client's next message (disconnect)."""
        if self.has_ended:
            return await self.receive()
        piece = await self.piece()
        return {"type": "http.request", "body": piece, "more_body": not self.has_ended}

    def _count(self, piece: bytes) -> None:
        self.size_bytes += len(piece)
        if self.size_bytes > self.max_bytes:
            raise _too_large(self.max_bytes)
        if self.line_max_bytes is not None:
            self._count_lines(piece, self.line_max_bytes)

    def _count_lines(self, piece: bytes, max_bytes: int) -> None:
        """Refuse a line that is too long. Most pieces are searched, not split: that takes a hundredth."""
        first_end = piece.find(b"\n")
        if self.line_bytes + (len(piece) if first_end < 0 else first_end) > max_bytes:
            raise _too_long(max_bytes)
        # A line within a piece is no longer than the piece.
        if len(piece) > max_bytes and max(map(len, piece.split(b"\n"))) > max_bytes:
            raise _too_long(max_bytes)
        self.line_bytes = len(piece) - piece.rfind(b"\n") - 1 + (self.line_bytes if first_end < 0 else 0)

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

    def __init__(self, app: ASGIApp, *, limits: ServerLimits, batches: frozenset[Target]) -> None:
        self._app = app
        self._limits = limits
        self._batches = batches
        self._held_bytes = Quota("bytes of bodies in memory", limits.body_bytes, retry_after_s=RETRY_AFTER_S)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request whose body is within the limits."""
        if scope["type"] != "http" or not is_under(scope["path"], *GUARDED):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if target_of(scope) in self._batches:
            await self._app(scope, self._open_batch(headers, receive).message, send)
            return
        body = self._open(headers, receive, JSON, self._limits.max_request_bytes)
        found: AuthenticatedKey = scope["state"]["found_key"]
        try:
            whole = await body.whole(on_piece=partial(self._held_bytes.take, found))
            await self._app(scope, _replayed(whole, receive), send)
        finally:
            self._held_bytes.give_back(found, body.held_bytes)

    def _open_batch(self, headers: Headers, receive: Receive) -> Body:
        """A line of a batch is as large as a request that stores one item."""
        batch = self._open(headers, receive, LINES, self._limits.max_batch_bytes)
        return replace(batch, line_max_bytes=self._limits.max_request_bytes)

    def _open(self, headers: Headers, receive: Receive, media_type: str, max_bytes: int) -> Body:
        if _has_body(headers):
            _check_media_type(headers, media_type)
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


def _too_long(max_bytes: int) -> HTTPException:
    return HTTPException(
        413, f"A line of the batch is too long: the limit is {max_bytes:,} bytes, decompressed."
    )


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns a body that was already read, then the client's next messages."""
    waiting = [body]

    async def replay() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return replay
