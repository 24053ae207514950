"""Bodies of requests: read whole within a limit, looked into if compressed, and kept as they came.

The original bytes go to the provider whenever the proxy changes nothing. Only a copy is decompressed, within
limits; a compression that is not known here, or a body that cannot be decompressed, is the provider's to
judge, and the proxy is `Unsure`.
"""

import asyncio
import json
import zlib
from collections.abc import Callable
from typing import Any

import orjson
from starlette.types import Receive

from mnemic.proxy.errors import ProxyError
from mnemic.proxy.protocol import Body, Unsure

BODY_PAUSE_S = 30.0
"""How long a client may pause while it sends a body."""
GZIP_OR_ZLIB = 47
"""zlib: find out which of the two it is."""
DIGITS_AS_ZEROS = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
LONG_INTEGER = b"0" * 19
"""An integer of fewer digits has 64 bits. Digits in a string count, too: that only costs time."""


class ClientGoneError(Exception):
    """The client disconnected; nobody waits for a response."""


async def read_body(
    receive: Receive, *, content_length: str | None, max_bytes: int, on_piece: Callable[[int], None]
) -> bytes:
    """The whole body; ProxyError if it is over the limit or the client pauses too long.

    `on_piece` may refuse the size of a piece, before the rest arrives.
    """
    if content_length is not None and content_length.isdecimal() and int(content_length) > max_bytes:
        raise _too_large(max_bytes)
    pieces, size = [], 0
    is_last = False
    while not is_last:
        piece, is_last = await next_piece(receive)
        size += len(piece)
        if size > max_bytes:
            raise _too_large(max_bytes)
        on_piece(len(piece))
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


async def next_piece(receive: Receive) -> tuple[bytes, bool]:
    """The next piece of a body, and whether it is the last."""
    try:
        async with asyncio.timeout(BODY_PAUSE_S):
            message = await receive()
    except TimeoutError:
        raise ProxyError(408, f"The body is incomplete: no data for {BODY_PAUSE_S:.0f} s.") from None
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    return message.get("body", b""), not message.get("more_body", False)


def load_text(text: bytes) -> Body:
    """The JSON object of a text; `Unsure` if there is none, or if it could not be written again exactly."""
    body = load_exactly(text)
    if not isinstance(body, dict):
        raise Unsure("not a JSON object")
    return body


def load_exactly(text: bytes) -> Any:
    """The value of a JSON text, which can be written again exactly; `Unsure` if there is none.

    orjson is quick and strict. The standard library reads what it cannot: halves of surrogate pairs, and
    integers beyond 64 bits, which orjson would read as floats.
    """
    if LONG_INTEGER in text.translate(DIGITS_AS_ZEROS):
        return _load_slowly(text)
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _load_slowly(text)


def _load_slowly(text: bytes) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Unsure("malformed JSON") from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def decompressed(raw: bytes, encoding: str, *, max_bytes: int) -> bytes:
    """The text of a body; `Unsure` if it cannot be decompressed within the limit."""
    match encoding.strip().lower():
        case "" | "identity":
            return raw
        case "gzip" | "x-gzip" | "deflate":
            return _inflated(raw, max_bytes)
        case "zstd":
            return _from_zstd(raw, max_bytes)
    raise Unsure("unknown content encoding")


def _inflated(raw: bytes, max_bytes: int) -> bytes:
    decompressor = zlib.decompressobj(GZIP_OR_ZLIB)
    try:
        text = decompressor.decompress(raw, max_bytes)
    except zlib.error as error:
        raise Unsure("not decompressible") from error
    if not decompressor.eof or decompressor.unused_data:
        raise Unsure("not decompressible within the limit")
    return text


def _from_zstd(raw: bytes, max_bytes: int) -> bytes:
    from zstandard import ZstdDecompressor, ZstdError  # noqa: PLC0415 (extra: proxy)

    decompressor = ZstdDecompressor(max_window_size=max_bytes)
    try:
        with decompressor.stream_reader(raw, read_across_frames=True) as reader:
            text: bytes = reader.read(max_bytes + 1)
    except ZstdError as error:
        raise Unsure("not decompressible") from error
    if len(text) > max_bytes:
        raise Unsure("not decompressible within the limit")
    return text


def _too_large(max_bytes: int) -> ProxyError:
    return ProxyError(
        413,
        f"The body is too large: the limit is {max_bytes:,} bytes "
        "(MNEMIC_PROXY_MAX_REQUEST_BYTES of the proxy).",
    )
