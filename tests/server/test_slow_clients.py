"""Slow clients: with headers, with bodies, after the response."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.server.running import RunningServer, running_server

PAUSE_S = 0.3
PATIENCE_S = 60


@pytest.fixture(scope="module")
def impatient(server_folder: Path) -> Iterator[RunningServer]:
    """A server that waits briefly for the rest of a body, and for a client that sends after the response."""
    with (
        pytest.MonkeyPatch.context() as patch,
        running_server(server_folder, body_pause_s=PAUSE_S) as server,
    ):
        patch.setattr("mnemic.server.protocol.HEADERS_TIMEOUT_S", PATIENCE_S)
        patch.setattr("mnemic.server.protocol.LINGER_S", PAUSE_S)
        yield server


def wait_briefly_for_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where headers are missing: on a busy machine a good client may take as long as `PAUSE_S`."""
    monkeypatch.setattr("mnemic.server.protocol.HEADERS_TIMEOUT_S", PAUSE_S)


@pytest.fixture
def key(impatient: RunningServer, tenant: str) -> str:
    return impatient.create_key(tenant, "write", owner="alice").key


def connect(server: RunningServer) -> socket.socket:
    address = urlsplit(server.url)
    return socket.create_connection((str(address.hostname), address.port or 0), timeout=PATIENCE_S)


def rest_of(connection: socket.socket) -> str:
    """Read until the server closes the connection."""
    received = b""
    try:
        while part := connection.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return received.decode()


def head(key: str, path: str = "/v1/memories", media_type: str = "application/json") -> bytes:
    lines = (
        f"POST {path} HTTP/1.1",
        "Host: x",
        f"Authorization: Bearer {key}",
        f"Content-Type: {media_type}",
    )
    return "\r\n".join(lines).encode() + b"\r\n"


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: "])
def test_missing_headers_end_the_connection(
    impatient: RunningServer, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    wait_briefly_for_headers(monkeypatch)
    with connect(impatient) as connection:
        connection.sendall(sent)
        assert rest_of(connection).startswith("HTTP/1.1 408 ")


def test_a_second_request_has_the_same_timeout(
    impatient: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(impatient) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        wait_briefly_for_headers(monkeypatch)
        connection.sendall(b"GET /hea")
        assert "HTTP/1.1 408 " in rest_of(connection)


@pytest.mark.parametrize(
    "length", [b"Content-Length: 100\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"]
)
def test_a_missing_body_is_408(impatient: RunningServer, key: str, length: bytes) -> None:
    with connect(impatient) as connection:
        connection.sendall(head(key) + length)
        answer = rest_of(connection)
    assert answer.startswith("HTTP/1.1 408 ")
    assert "application/problem+json" in answer


def test_a_batch_that_pauses_stores_nothing(impatient: RunningServer, key: str) -> None:
    with connect(impatient) as connection:
        connection.sendall(head(key, "/v1/memories/batch", "application/x-ndjson"))
        connection.sendall(b'Transfer-Encoding: chunked\r\n\r\n5\r\n"Tea"\r\n')
        assert rest_of(connection).startswith("HTTP/1.1 408 ")
    with impatient.client(key) as client:
        assert client.get("/v1/memories").json() == []


def test_a_client_that_sends_after_the_response_is_disconnected(impatient: RunningServer) -> None:
    """A client without a key gets its response before the body, and cannot send forever."""
    with connect(impatient) as connection:
        connection.sendall(head("nobody") + b"Content-Length: 1000000000\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 401 ")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            send_forever(connection)


def send_forever(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"x" * 1000)


def test_the_server_survives_a_client_that_disconnects(impatient: RunningServer, key: str) -> None:
    for _ in range(5):
        with connect(impatient) as connection:
            connection.sendall(head(key) + b"Content-Length: 100\r\n\r\n{")
    with impatient.client(key) as client:
        assert client.get("/v1/memories").json() == []


def test_a_request_that_takes_too_long_is_ended(
    server_folder: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*arguments: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("mnemic.mind.bundle.recall_request", never)
    with running_server(server_folder, request_timeout_s=1.0) as server:
        key = server.create_key(tenant, "write", owner="alice").key
        with server.client(key) as client:
            answer = client.post("/v1/recall", json={"query": "x"})
    assert (answer.status_code, answer.json()["error"]) == (504, "QueryTimeoutError")
