"""HTTP/1.1 on a stream: no library decides about headers, chunks or when a byte is sent."""

import asyncio
import gzip
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import zstandard

WATCH_S = 0.01
"""How often a waiting stream looks whether its client is gone."""
REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests", 529: "Overloaded"}


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    raw: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    def header(self, name: str) -> str:
        """The first header of that name; empty if there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    def decoded(self) -> bytes:
        """The body without its content encoding."""
        match self.header("content-encoding"):
            case "gzip":
                return gzip.decompress(self.raw)
            case "zstd":
                return zstandard.ZstdDecompressor().decompressobj().decompress(self.raw)
        return self.raw


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection; None at its end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = tuple(
        (name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines)
    )
    named = {name.lower(): value for name, value in headers}
    if named.get("transfer-encoding", "").lower() == "chunked":
        raw = await _read_chunks(reader)
    else:
        raw = await reader.readexactly(int(named.get("content-length", "0")))
    return Request(method, target, headers, raw)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int((await reader.readline()).split(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return b"".join(parts)


class ClientGone(Exception):
    """The client closed the connection before the response was complete."""


class Reply:
    """The response to one request: a JSON body, or a stream in pieces of given sizes."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, piece_bytes: Sequence[int]
    ) -> None:
        self.sent = bytearray()
        """Body without the framing of chunks."""
        self._reader = reader
        self._writer = writer
        self._sizes: Iterator[int] | None = itertools.cycle(piece_bytes) if piece_bytes else None
        self._rest = bytearray()
        self._size = next(self._sizes) if self._sizes else 0

    async def send_json(self, status: int, body: Any, headers: Iterable[tuple[str, str]] = ()) -> None:
        data = json.dumps(body).encode()
        self._write_head(
            status, [("content-type", "application/json"), ("content-length", str(len(data))), *headers]
        )
        self.sent += data
        self._writer.write(data)
        await self._writer.drain()

    def begin_stream(self, headers: Iterable[tuple[str, str]] = ()) -> None:
        named = [("content-type", "text/event-stream; charset=utf-8"), ("transfer-encoding", "chunked")]
        self._write_head(200, [*named, *headers])

    async def put(self, data: bytes) -> None:
        """Send an event, or what full pieces it completes."""
        self._check_client()
        if self._sizes is None:
            return await self._send(data)
        self._rest += data
        while len(self._rest) >= self._size:
            piece = bytes(self._rest[: self._size])
            del self._rest[: self._size]
            self._size = next(self._sizes)
            await self._send(piece)

    async def end_stream(self) -> None:
        if self._rest:
            await self._send(bytes(self._rest))
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def cut(self) -> None:
        """Break the connection, after what was put is sent."""
        if self._rest:
            await self._send(bytes(self._rest))
        self._writer.close()

    async def wait(self, released: asyncio.Event, *, at_most_s: float | None = None) -> None:
        """Wait for a release; raises if the client goes away meanwhile."""
        loop = asyncio.get_running_loop()
        ends = None if at_most_s is None else loop.time() + at_most_s
        while not released.is_set() and (ends is None or loop.time() < ends):
            self._check_client()
            await asyncio.sleep(WATCH_S)

    def _check_client(self) -> None:
        is_broken = self._reader.exception() is not None or self._writer.is_closing()
        if is_broken or self._reader.at_eof():
            raise ClientGone

    async def _send(self, data: bytes) -> None:
        self.sent += data
        self._writer.write(b"%x\r\n" % len(data) + data + b"\r\n")
        await self._writer.drain()
        if self._sizes is not None:
            # A chance for the other side to read the piece alone.
            await asyncio.sleep(0)

    def _write_head(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        lines = [
            f"HTTP/1.1 {status} {REASONS.get(status, 'Error')}",
            *(f"{key}: {value}" for key, value in headers),
        ]
        self._writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
