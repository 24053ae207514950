"""Request bodies: size, compression, media type."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.conftest import OpenClient
from tests.server.running import RunningServer, running_server
from tests.server.test_authentication import bearer, is_problem, send_raw

LIMIT_BYTES = 20_000
BATCH_BYTES = 100_000
LINES = {"Content-Type": "application/x-ndjson"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def small_server(server_folder: Path) -> Iterator[RunningServer]:
    """A server with small limits."""
    with running_server(server_folder, max_request_bytes=LIMIT_BYTES, max_batch_bytes=BATCH_BYTES) as server:
        yield server


@pytest.fixture
def client(small_server: RunningServer, tenant: str) -> Iterator[httpx.Client]:
    """A client that may write for alice."""
    with small_server.client(small_server.create_key(tenant, "write", owner="alice").key) as client:
        yield client


def body_of(size_bytes: int) -> bytes:
    """A request to retain something, of this size."""
    empty = len(json.dumps({"content": "", "metadata": {"padding": ""}}))
    return json.dumps({"content": "", "metadata": {"padding": "x" * (size_bytes - empty)}}).encode()


def stored(client: httpx.Client) -> list[str]:
    return [memory["content"] for memory in client.get("/v1/memories").json()]


def test_a_body_may_be_as_large_as_the_limit(client: httpx.Client) -> None:
    body = json.dumps({"content": "Tea."}).encode().ljust(LIMIT_BYTES)
    assert client.post("/v1/memories", content=body, headers=JSON).status_code == 200
    answer = client.post("/v1/memories", content=body + b" ", headers=JSON)
    assert is_problem(answer, 413, "InvalidInputError")
    assert f"{LIMIT_BYTES:,}" in answer.json()["detail"]


def test_chunks_without_a_length_are_counted(client: httpx.Client) -> None:
    def chunks(count: int) -> Iterator[bytes]:
        yield b'{"content": "Tea."'
        for _ in range(count):
            yield b" " * 1000
        yield b"}"

    assert client.post("/v1/memories", content=chunks(10), headers=JSON).status_code == 200
    assert is_problem(client.post("/v1/memories", content=chunks(20), headers=JSON), 413, "InvalidInputError")


def test_a_too_large_content_length_is_refused_before_the_body_is_read(
    small_server: RunningServer, client: httpx.Client
) -> None:
    head = (
        f"POST /v1/memories HTTP/1.1\r\nHost: x\r\nAuthorization: {bearer(client)}\r\nConnection: close\r\n"
    )
    head += "Content-Type: application/json\r\nContent-Length: 999999999999\r\n\r\n"
    status, _ = send_raw(small_server, head.encode())
    assert status == 413


def test_a_request_without_a_key_is_refused_before_the_body_is_read(small_server: RunningServer) -> None:
    head = "POST /v1/memories HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n"
    status, _ = send_raw(small_server, head.encode())
    assert status == 401


def test_a_compressed_body_is_decompressed(client: httpx.Client) -> None:
    packed = gzip.compress(json.dumps({"content": "Packed tea."}).encode())
    answer = client.post("/v1/memories", content=packed, headers={**JSON, "Content-Encoding": "gzip"})
    assert answer.status_code == 200, answer.text
    assert stored(client) == ["Packed tea."]


def test_a_decompression_bomb_is_refused(client: httpx.Client) -> None:
    bomb = gzip.compress(b" " * 200_000_000)
    assert len(bomb) > LIMIT_BYTES, "large even when it is packed"
    for packed in (bomb[: LIMIT_BYTES - 1], gzip.compress(b" " * 5_000_000)):
        answer = client.post("/v1/memories", content=packed, headers={**JSON, "Content-Encoding": "gzip"})
        assert is_problem(answer, 413, "InvalidInputError")


@pytest.mark.parametrize(
    "packed",
    [
        b"no gzip",
        gzip.compress(b'{"content": "x"}')[:-9],
        gzip.compress(b'{"content": "x"}') + b"rest",
        gzip.compress(b'{"content": ') + gzip.compress(b'"x"}'),
        zlib.compress(b'{"content": "x"}'),
    ],
    ids=["nothing packed", "cut off", "more behind it", "two pieces", "another format"],
)
def test_an_invalid_gzip_body_is_refused(client: httpx.Client, packed: bytes) -> None:
    answer = client.post("/v1/memories", content=packed, headers={**JSON, "Content-Encoding": "gzip"})
    assert is_problem(answer, 400, "InvalidInputError")
    assert stored(client) == []


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, gzip", "zstd", "x"])
def test_other_compressions_are_refused(client: httpx.Client, encoding: str) -> None:
    answer = client.post("/v1/memories", content=b"{}", headers={**JSON, "Content-Encoding": encoding})
    assert is_problem(answer, 415, "InvalidInputError")


@pytest.mark.parametrize(
    "media_type",
    [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "x"],
)
def test_other_media_types_are_refused(client: httpx.Client, media_type: str | None) -> None:
    headers = {"Content-Type": media_type} if media_type is not None else {}
    answer = client.post("/v1/memories", content=b'{"content": "x"}', headers=headers)
    assert is_problem(answer, 415, "InvalidInputError")
    assert stored(client) == []


INVALID_BODIES: list[bytes] = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"text"',
    b'{"content": "x"} {}',
    b'{"content": "\xff"}',
    b'{"content": "\\ud800"}',
    b'{"content": "a\\u0000b"}',
    b'{"content": 5}',
    b'{"content": "x", "unknown": 1}',
    b'{"content": "x", "confidence": NaN}',
    b'{"content": "x", "metadata": {"a": Infinity}}',
    b'{"content": "x", "confidence": 1e999}',
    b"[" * 9000 + b"]" * 9000,
    b'{"content": "x", "metadata": {"a": ' + b"[" * 9000 + b"]" * 9000 + b"}}",
    b'{"content": "x", "metadata": ' + b'{"a":' * 1500 + b"1" + b"}" * 1500 + b"}",
]


def test_an_invalid_body_is_refused_and_nothing_is_written(
    client: httpx.Client, subtests: pytest.Subtests
) -> None:
    for body in INVALID_BODIES:
        with subtests.test(body=body):
            answer = client.post("/v1/memories", content=body, headers=JSON)
            assert answer.status_code in (400, 422), answer.text
            assert is_problem(answer, answer.status_code, "InvalidInputError")
            assert stored(client) == []


def test_a_batch_has_a_limit_of_its_own(client: httpx.Client) -> None:
    lines = b"".join(b'{"content": "Line %d %s"}\n' % (number, b"x" * 100) for number in range(300))
    assert LIMIT_BYTES < len(lines) < BATCH_BYTES
    answer = client.post("/v1/memories/batch", content=lines, headers=LINES)
    assert answer.json()["stored_count"] == 300
    too_many = lines + b" " * BATCH_BYTES
    assert is_problem(
        client.post("/v1/memories/batch", content=too_many, headers=LINES), 413, "InvalidInputError"
    )


def test_a_batch_that_is_too_large_stores_nothing(client: httpx.Client) -> None:
    def lines() -> Iterator[bytes]:
        for number in range(2_000):
            yield b'{"content": "Line %d %s"}\n' % (number, b"x" * 100)

    answer = client.post("/v1/memories/batch", content=lines(), headers=LINES)
    assert is_problem(answer, 413, "InvalidInputError")
    assert stored(client) == []


def test_the_limit_of_batches_applies_to_no_other_path(client: httpx.Client) -> None:
    """With another method than POST, `batch` is the id of a memory."""
    for path in ("/v1/memories/batch", "/v1/memories/%62atch"):
        answer = client.request("PATCH", path, content=body_of(LIMIT_BYTES + 1), headers=JSON)
        assert is_problem(answer, 413, "InvalidInputError")


def test_large_responses_are_compressed_if_the_client_accepts_it(
    writer: httpx.Client, client_as: OpenClient
) -> None:
    body: dict[str, Any] = {"content": "Tea. " * 1000, "owner": "alice"}
    writer.post("/v1/memories", json=body).raise_for_status()
    packed = writer.get("/v1/memories", params={"owner": "alice"})
    plain = writer.get("/v1/memories", params={"owner": "alice"}, headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()
