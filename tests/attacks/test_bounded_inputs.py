"""Attacks by size: bombs, endless lines, deep and hostile JSON, through every way into the server."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from mnemic.retain.batches import BATCH_ROWS, in_groups
from mnemic.retain.items import check_items
from mnemic.server.request_body import COMPRESSION_MAX_RATIO
from mnemic.server.routes import EMPTY_LINES_MAX
from tests.attacks.http_server import (
    JSON,
    LINES,
    MCP_BODY,
    MCP_HEADERS,
    attacked_server,
    authorization,
    connect,
    head,
    new_key,
    rest_of,
    send_raw,
    status_in,
)
from tests.running_folder import running
from tests.server.running import RunningServer
from tests.server.test_authentication import is_problem

REQUEST_BYTES = 100_000
BATCH_BYTES = 64 * 1024**2
PAUSE_S = 0.3
GZIP = {"Content-Encoding": "gzip"}


@pytest.fixture(scope="module")
def folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "bounded-inputs")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    with attacked_server(
        folder, max_request_bytes=REQUEST_BYTES, max_batch_bytes=BATCH_BYTES, body_pause_s=PAUSE_S
    ) as server:
        yield server


@pytest.fixture
def client(server: RunningServer) -> Iterator[httpx.Client]:
    with server.client(new_key(server, owner="alice").key) as client:
        yield client


def stored(client: httpx.Client) -> list[str]:
    return [memory["content"] for memory in client.get("/v1/memories").json()]


def test_a_bomb_is_refused_at_the_limit(client: httpx.Client, subtests: pytest.Subtests) -> None:
    """Spaces, one endless string, and many good lines: each compresses by more than any honest batch."""
    bombs = {
        "spaces": b" " * 20_000_000,
        "one line": b'"' + b"x" * 20_000_000 + b'"',
        "good lines": b'{"content": "Tea."}\n' * 1_000_000,
        "empty lines": b"\n" * 20_000_000,
    }
    for name, bomb in bombs.items():
        with subtests.test(name):
            packed = gzip.compress(bomb)
            assert len(bomb) > COMPRESSION_MAX_RATIO * len(packed)
            answer = client.post("/v1/memories/batch", content=packed, headers=LINES | GZIP)
            assert is_problem(answer, 413, "InvalidInputError")
            limits = (f"{COMPRESSION_MAX_RATIO} times", f"{REQUEST_BYTES:,} bytes")
            assert any(limit in answer.json()["detail"] for limit in limits)
    assert stored(client) == []


def test_a_line_of_a_batch_is_bounded(client: httpx.Client, subtests: pytest.Subtests) -> None:
    def in_chunks(line: bytes) -> Iterator[bytes]:
        for start in range(0, len(line), 1000):
            yield line[start : start + 1000]

    good = b'"Tea."\n'
    long = b'{"content": "Tea.", "metadata": {"a": "' + b"x" * REQUEST_BYTES + b'"}}'
    for name, body in {
        "alone": long,
        "first": long + b"\n" + good,
        "last": good + long,
        "between": good + long + b"\n" + good,
        "spaces": good + b" " * (REQUEST_BYTES + 1) + b"\n" + good,
    }.items():
        with subtests.test(name):
            answer = client.post("/v1/memories/batch", content=in_chunks(body), headers=LINES)
            assert is_problem(answer, 413, "InvalidInputError")
            assert f"{REQUEST_BYTES:,}" in answer.json()["detail"]
    assert stored(client) == []
    fitting = json.dumps("Tea.").encode().ljust(REQUEST_BYTES) + b"\n"
    answer = client.post("/v1/memories/batch", content=in_chunks(fitting * 3), headers=LINES)
    assert answer.status_code == 200, answer.text


def test_empty_lines_of_a_batch_are_bounded(client: httpx.Client) -> None:
    answer = client.post("/v1/memories/batch", content=b'"Tea."' + b"\n" * 1_000_000, headers=LINES)
    assert is_problem(answer, 422, "InvalidInputError")
    assert f"{EMPTY_LINES_MAX:,} empty lines" in answer.json()["detail"]
    assert stored(client) == []


def test_the_limit_of_a_batch_is_for_its_method_only(client: httpx.Client, subtests: pytest.Subtests) -> None:
    """`PATCH /v1/memories/batch` updates the memory `batch`, and must not read a batch into memory."""
    for method in ("PATCH", "PUT", "DELETE", "GET"):
        for media_type in (JSON, LINES):
            with subtests.test(f"{method} {media_type}"):
                body = b" " * (REQUEST_BYTES + 1)
                answer = client.request(method, "/v1/memories/batch", content=body, headers=media_type)
                assert answer.status_code in (413, 415), answer.text


HOSTILE_JSON = {
    "deep arrays": b"[" * 40_000 + b"]" * 40_000,
    "deep objects": b'{"a":' * 15_000 + b"1" + b"}" * 15_000,
    "a huge integer": b'{"content": "x", "confidence": ' + b"1" * 90_000 + b"}",
    "a huge integer in metadata": b'{"content": "x", "metadata": {"a": ' + b"1" * 90_000 + b"}}",
    "a huge exponent": b'{"content": "x", "confidence": 1e999999}',
    "NaN": b'{"content": "x", "metadata": {"a": NaN}}',
    "Infinity": b'{"content": "x", "metadata": {"a": -Infinity}}',
    "NUL": b'{"content": "a\\u0000b"}',
    "a raw NUL": b'{"content": "a\x00b"}',
    "NUL in a key": b'{"content": "x", "metadata": {"a\\u0000": 1}}',
    "a lone surrogate": b'{"content": "\\ud800"}',
    "a lone surrogate in metadata": b'{"content": "x", "metadata": {"a": "\\udfff"}}',
    "no UTF-8": b'{"content": "\xff\xfe"}',
    "a byte order mark of UTF-16": '{"content": "x"}'.encode("utf-16"),
    "two values": b'{"content": "x"} {"content": "y"}',
}


def test_hostile_json_is_refused(client: httpx.Client, subtests: pytest.Subtests) -> None:
    for name, body in HOSTILE_JSON.items():
        for path, media_type in (("/v1/memories", JSON), ("/v1/memories/batch", LINES)):
            with subtests.test(f"{name}: {path}"):
                answer = client.post(path, content=body, headers=media_type)
                assert answer.status_code in (400, 422), answer.text
                assert is_problem(answer, answer.status_code, "InvalidInputError")
    assert stored(client) == []


def test_hostile_json_to_mcp_is_refused(server: RunningServer, subtests: pytest.Subtests) -> None:
    with server.client(new_key(server, owner="alice").key) as client:
        for name, body in HOSTILE_JSON.items():
            with subtests.test(name):
                answer = client.post("/mcp", content=body, headers=MCP_HEADERS)
                assert answer.status_code in (400, 422), (answer.status_code, answer.text)
        assert client.post("/mcp", content=MCP_BODY, headers=MCP_HEADERS).status_code == 200


def test_duplicate_names_in_json_mean_the_last_one(client: httpx.Client) -> None:
    """A body cannot name one owner to the check and another to the call."""
    body = b'{"content": "Tea.", "owner": "alice", "owner": "bob"}'
    assert is_problem(client.post("/v1/memories", content=body, headers=JSON), 403, "ForbiddenError")
    assert stored(client) == []


def test_bodies_to_mcp_are_bounded(server: RunningServer, subtests: pytest.Subtests) -> None:
    with server.client(new_key(server, owner="alice").key) as client:
        sent = {
            "too large": (b" " * (REQUEST_BYTES + 1), MCP_HEADERS, 413),
            "a bomb": (gzip.compress(b" " * 20_000_000), MCP_HEADERS | GZIP, 413),
            "no gzip": (b"x", MCP_HEADERS | GZIP, 400),
            "another compression": (MCP_BODY, MCP_HEADERS | {"Content-Encoding": "br"}, 415),
            "a form": (b"a=b", MCP_HEADERS | {"Content-Type": "multipart/form-data; boundary=x"}, 415),
        }
        for name, (body, headers, status) in sent.items():
            with subtests.test(name):
                assert is_problem(
                    client.post("/mcp", content=body, headers=headers), status, "InvalidInputError"
                )
        packed = client.post("/mcp", content=gzip.compress(MCP_BODY), headers=MCP_HEADERS | GZIP)
        assert packed.status_code == 200, packed.text


def test_a_stalled_body_ends(server: RunningServer, subtests: pytest.Subtests) -> None:
    key = authorization(new_key(server))
    for path in ("/v1/memories", "/mcp", "/%6dcp"):
        for start in (
            b"Content-Length: 100\r\n\r\n{",
            b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
            b"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n",
        ):
            with subtests.test(f"{path}: {start!r}"), connect(server) as connection:
                connection.sendall(head("POST", path, MCP_HEADERS | key) + start)
                answer = rest_of(connection).removeprefix("HTTP/1.1 100 Continue\r\n\r\n")
                assert status_in(answer) == 408, answer
                assert "application/problem+json" in answer


def test_long_request_lines_and_headers_are_refused(server: RunningServer, subtests: pytest.Subtests) -> None:
    """Also when they come in one piece: the parser reads up to 256 KiB at once."""
    long = "x" * 30_000
    for name, target, headers in (
        ("path", f"/v1/{long}", {}),
        ("query", f"/healthz?a={long}", {}),
        ("many parameters", f"/healthz?{'a&' * 15_000}", {}),
        ("header", "/healthz", {"X-Long": long}),
        ("many headers", "/healthz", {f"X-{number}": "y" for number in range(3_000)}),
    ):
        with subtests.test(name):
            closing = headers | {"Connection": "close"}
            answer = send_raw(server, head("GET", target, closing) + b"\r\n")
            assert status_in(answer) in (400, 414, 431), answer[:200]


def test_large_metadata_of_many_items_is_not_held_at_once() -> None:
    """512 items with a megabyte of empty lists each would take up 11 GB as objects."""
    heavy: dict[str, list[list[int]]] = {"a": [[]] * 100_000}
    items = ({"content": f"Tea {number}.", "metadata": heavy} for number in range(20))
    groups = list(in_groups(check_items(items, {})))
    assert max(map(len, groups)) <= 2
    light = ({"content": f"Tea {number}.", "metadata": {"a": 1}} for number in range(BATCH_ROWS))
    assert len(list(in_groups(check_items(light, {})))) == 1
