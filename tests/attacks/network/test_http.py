"""A network that stalls or drips between the SDK and a Mnemic server: errors in time, and recovery."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

import pytest

from mnemic.config import load_settings
from mnemic.errors import ServerUnavailableError
from mnemic.sdk.http import connection
from mnemic.sdk.http.connection import HttpConnection
from mnemic.sdk.http.wire import Request
from mnemic.types.scope import Scope
from tests.waiting import wait_for

PATIENCE_S = 30.0
# Of the event loop: after these, a connection that the client has made is accepted and served. Python 3.11
# leaves one open that is accepted while the server closes.
TURNS = 20
SCOPE = Scope("alice", "_global", "sdk")
DRIP = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n"


@asynccontextmanager
async def server(answer: bytes, *, drip: bool) -> AsyncIterator[HttpConnection]:
    """The connection to a server that begins to answer, and then falls silent or drips."""
    ended = asyncio.Event()
    serving: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(writer)
        await reader.read(1)
        writer.write(answer)
        while not ended.is_set():
            if drip:
                writer.write(b"x")
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), 0.01)
        writer.transport.abort()
        serving.discard(writer)

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        settings = load_settings(database_url=f"http://127.0.0.1:{port}", api_key=f"mn_{uuid4().hex}")
        client = HttpConnection(settings)
        try:
            yield client
        finally:
            await client.aclose()
            for _ in range(TURNS):
                await asyncio.sleep(0)
            ended.set()
            await wait_for(lambda: not serving, what="the server's connections to end")


async def test_a_server_that_falls_silent_or_drips_is_an_error_in_time(
    monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.setattr(connection, "REQUEST_TIMEOUT_S", 0.2)
    for label, answer, drip in (
        ("no answer", b"", False),
        ("half a status line", b"HTTP/1", False),
        ("half a body", DRIP + b"{", False),
        ("a dripping body", DRIP, True),
        ("a dripping header", b"HTTP/1.1 200 OK\r\nx: ", True),
    ):
        with subtests.test(label):
            async with server(answer, drip=drip) as client, asyncio.timeout(PATIENCE_S):
                with pytest.raises(ServerUnavailableError, match="did not respond in time"):
                    await client.send(Request("GET", "/v1/whoami"), None, is_idempotent=True)


async def test_a_stalled_upload_is_an_error_in_time(
    monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    async def unending() -> AsyncIterator[bytes]:
        while True:
            yield b'{"content": "x"}\n' * 10_000

    monkeypatch.setattr(connection, "BATCH_IDLE_MAX_S", 0.2)
    async with server(b"", drip=False) as client, asyncio.timeout(PATIENCE_S):
        with pytest.raises(ServerUnavailableError, match="did not respond in time"):
            await client.send_stream(Request("POST", "/v1/retain_many"), SCOPE, unending())


async def test_a_stream_without_heartbeats_is_an_error_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "STREAM_IDLE_MAX_S", 0.2)
    stream = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: heartbeat\n\n"

    async def read_all(client: HttpConnection) -> None:
        async with client.stream(Request("GET", "/v1/events/stream"), SCOPE, {}) as lines:
            async for _ in lines:
                pass

    async with server(stream, drip=False) as client, asyncio.timeout(PATIENCE_S):
        with pytest.raises(ServerUnavailableError, match="did not respond in time"):
            await read_all(client)
