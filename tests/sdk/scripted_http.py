"""An HTTP server that returns scripted responses, one per request, and records the requests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

WHO_AM_I = b'{"tenant_id":"019a8f2e-6c00-7abc-8def-0123456789ab","tenant":"acme","role":"admin","owner":null}'
LAST_CHUNK = b"0\r\n\r\n"


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as the server received it."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Response:
    """A scripted response. Status None disconnects without a response; a stream disconnects in the middle."""

    status: int | None = 200
    body: bytes = b"[]"
    headers: dict[str, str] = field(default_factory=dict)
    is_stream: bool = False


DISCONNECT = Response(status=None)


@dataclass
class ScriptedServer:
    """The URL, the remaining responses and the recorded requests. `whoami` is answered without a script."""

    url: str
    responses: list[Response]
    requests: list[ReceivedRequest] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, then disconnect."""
        try:
            request = await _read(reader)
            if request.target == "/v1/whoami":
                writer.write(_serialised(Response(body=WHO_AM_I)))
            else:
                self.requests.append(request)
                writer.write(_serialised(self.responses.pop(0)))
            await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def scripted_server(*responses: Response) -> AsyncIterator[ScriptedServer]:
    """Run a scripted server for a block."""
    scripted = ScriptedServer("", list(responses))
    server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
    async with server:
        scripted.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield scripted


async def _read(reader: asyncio.StreamReader) -> ReceivedRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    if headers.get("transfer-encoding") == "chunked":
        body = await reader.readuntil(LAST_CHUNK)
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return ReceivedRequest(method, target, headers, body)


def _serialised(response: Response) -> bytes:
    if response.status is None:
        return b""
    headers: dict[str, Any] = {"Connection": "close", **response.headers}
    if response.is_stream:
        # A length that is never reached, so that the client sees a broken connection.
        headers["Content-Length"] = len(response.body) + 1
    else:
        headers["Content-Length"] = len(response.body)
    lines = [f"HTTP/1.1 {response.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + response.body


def problem(status: int, error: str, detail: str, **headers: str) -> Response:
    """An error response in the format of a Mnemic server."""
    body = f'{{"status":{status},"error":"{error}","detail":"{detail}"}}'.encode()
    return Response(status, body, {name.replace("_", "-"): value for name, value in headers.items()})
