"""Bodies of requests: read whole within a limit, looked into if compressed, and kept as they came.

The original bytes go to the provider whenever the proxy changes nothing. Only a copy is decompressed, within
limits; a compression that is not known here, or a body that cannot be decompressed, is the provider's to
judge, and the proxy is `Unsure`.
"""

import asyncio
import json
import re
import zlib
from typing import Any

import orjson
from starlette.types import Receive

from mnemic.proxy.errors import ProxyError
from mnemic.proxy.protocol import Body, Unsure

BODY_PAUSE_S = 30.0
"""How long a client may pause while it sends a body."""
GZIP_OR_ZLIB = 47
"""zlib: find out which of the two it is."""
LONG_INTEGER = re.compile(rb"[0-9]{19}")
"""orjson reads integers beyond 64 bits as floats, which would change them."""
INTEGER_MAX = 2**64 - 1
INTEGER_MIN = -(2**63)


class ClientGoneError(Exception):
    """The client disconnected; nobody waits for a response."""


async def read_body(receive: Receive, *, content_length: str | None, max_bytes: int) -> bytes:
    """The whole body; ProxyError if it is over the limit or the client pauses too long."""
    if content_length is not None and content_length.isdecimal() and int(content_length) > max_bytes:
        raise _too_large(max_bytes)
    pieces, size = [], 0
    is_last = False
    while not is_last:
        piece, is_last = await next_piece(receive)
        size += len(piece)
        if size > max_bytes:
            raise _too_large(max_bytes)
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


def parse(raw: bytes, encoding: str, *, max_bytes: int) -> Body:
    """The JSON object of a body; `Unsure` if it cannot be read exactly."""
    text = decompressed(raw, encoding, max_bytes=max_bytes)
    try:
        body: Any = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Unsure("malformed JSON") from error
    if not isinstance(body, dict):
        raise Unsure("not a JSON object")
    if LONG_INTEGER.search(text) is not None and _has_large_integer(text):
        raise Unsure("an integer beyond 64 bits")
    return body


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


def _has_large_integer(text: bytes) -> bool:
    """Whether an integer is beyond 64 bits; digits in a string do not count."""
    is_large = False

    def check(digits: str) -> int:
        nonlocal is_large
        is_large = is_large or len(digits) > 20 or not INTEGER_MIN <= int(digits) <= INTEGER_MAX
        return 0

    json.loads(text, parse_int=check)
    return is_large


def _too_large(max_bytes: int) -> ProxyError:
    return ProxyError(
        413,
        f"The body is too large: the limit is {max_bytes:,} bytes "
        "(MNEMIC_PROXY_MAX_REQUEST_BYTES of the proxy).",
    )
