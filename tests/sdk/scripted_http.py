"""A server that answers by a script, request after request, and keeps what it was sent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

WHO_AM_I = b'{"tenant_id":"019a8f2e-6c00-7abc-8def-0123456789ab","tenant":"acme","role":"admin","owner":null}'
LAST_CHUNK = b"0\r\n\r\n"


@dataclass(frozen=True)
class Sent:
    """A request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What to answer; None as status hangs up without a word, a stream hangs up in the middle."""

    status: int | None = 200
    body: bytes = b"[]"
    headers: dict[str, str] = field(default_factory=dict)
    is_stream: bool = False


HANG_UP = Answer(status=None)


@dataclass
class Script:
    """The server: where it is, what it still has to say, what it heard. Opening is answered by itself."""

    url: str
    answers: list[Answer]
    heard: list[Sent] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, then hang up."""
        try:
            sent = await _read(reader)
            if sent.target == "/v1/whoami":
                writer.write(_written(Answer(body=WHO_AM_I)))
            else:
                self.heard.append(sent)
                writer.write(_written(self.answers.pop(0)))
            await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def scripted(*answers: Answer) -> AsyncIterator[Script]:
    """Run the script for a block."""
    script = Script("", list(answers))
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    async with server:
        script.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield script


async def _read(reader: asyncio.StreamReader) -> Sent:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    if headers.get("transfer-encoding") == "chunked":
        body = await reader.readuntil(LAST_CHUNK)
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Sent(method, target, headers, body)


def _written(answer: Answer) -> bytes:
    if answer.status is None:
        return b""
    headers: dict[str, Any] = {"Connection": "close", **answer.headers}
    if answer.is_stream:
        # A length that is never reached: whoever reads sees the connection break.
        headers["Content-Length"] = len(answer.body) + 1
    else:
        headers["Content-Length"] = len(answer.body)
    lines = [f"HTTP/1.1 {answer.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + answer.body


def problem(status: int, error: str, detail: str, **headers: str) -> Answer:
    """An error as the server tells it."""
    body = f'{{"status":{status},"error":"{error}","detail":"{detail}"}}'.encode()
    return Answer(status, body, {name.replace("_", "-"): value for name, value in headers.items()})
