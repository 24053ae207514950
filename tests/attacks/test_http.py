"""Attacks over HTTP: paths that hide, floods, clients that stall, requests inside of requests."""

import json
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from mnemic.server.limits import PIPELINED_MAX
from mnemic.server.quota import QuotaLimits
from mnemic.types.key import NewApiKey
from tests.attacks.http_server import (
    JSON,
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
from tests.waiting import wait_until

STREAM = "/v1/events/stream"


@pytest.fixture(scope="module")
def folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "http-attacks")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    """A server with small limits for each key and tenant."""
    with attacked_server(
        folder,
        recall_rate_per_minute=12,
        tenant_recall_rate_per_minute=18,
        streams=QuotaLimits(server=6, tenant=3, key=2),
        requests=QuotaLimits(server=100, tenant=5, key=3),
        body_bytes=QuotaLimits(server=4_000_000, tenant=2_000_000, key=1_000_000),
        connections_max=60,
        connections_per_address_max=60,
    ) as server:
        # However long a test takes, no bucket is refilled.
        authenticator = server.server_app.authenticator
        for rates in (authenticator._key_recalls, authenticator._tenant_recalls):
            rates._clock = lambda: 0.0
        yield server


def recall(client: httpx.Client, path: str = "/v1/recall") -> httpx.Response:
    return client.post(path, json={"query": "tea", "owner": "alice"})


def test_no_spelling_of_a_path_escapes_the_rate_limit(
    server: RunningServer, subtests: pytest.Subtests
) -> None:
    spellings = {
        "/v1/recall": (
            "/v1/recall",
            "/v1/%72ecall",
            "/%76%31/%72%65call",
            "/v1/recal%6C",
            "/v1/recall?nulls=true",
        ),
        "/mcp": ("/mcp", "/%6dcp", "/%6Dcp", "/%6d%63%70", "/mcp?compat=chatgpt"),
    }
    for path, others in spellings.items():
        with server.client(new_key(server, "read").key) as client:

            def send(target: str, path: str = path, client: httpx.Client = client) -> httpx.Response:
                if path == "/mcp":
                    return client.post(target, content=MCP_BODY, headers=MCP_HEADERS)
                return recall(client, target)

            assert [send(path).status_code for _ in range(3)] == [200, 200, 429]
            for other in others:
                with subtests.test(other):
                    refused = send(other)
                    assert is_problem(refused, 429, "TooManyRequestsError")
                    assert int(refused.headers["retry-after"]) > 0


def test_other_paths_that_look_like_guarded_ones_do_not_exist(
    server: RunningServer, subtests: pytest.Subtests
) -> None:
    """Without a key nothing but 401 or 404 comes back, and with one nothing is run."""
    key = new_key(server, "admin")
    for target in (
        "//mcp", "/mcp/", "/mcp/x", "/MCP", "/mcp;a=b", "/mcp%00", "/mcp%2F", "/./mcp", "/v1/../mcp",
        "/v1/%2e%2e/mcp", "/mcp/%2e%2e/v1/whoami", "//v1/whoami", "/v1//whoami", "/v1/whoami/",
        "/V1/whoami", "/v1/whoami;a=b",
        "/v1%2Fwhoami", "/v1/%2e/whoami", "/v1/x/..%2Fwhoami", "/metrics/../v1/whoami", "/healthz/../metrics",
        "//metrics", "/metrics/", "/METRICS", "/healthz;/../metrics", "/v1/whoami%20", "/v1/whoami%0a",
    ):  # fmt: skip
        with subtests.test(target):
            for headers in ({}, authorization(key)):
                answer = send_raw(server, head("GET", target, {**headers, "Connection": "close"}) + b"\r\n")
                assert status_in(answer) in (400, 401, 404), answer
                assert key.key[-20:] not in answer
    for target in ("/%6detrics", "/metric%73"):
        with subtests.test(target):
            answer = send_raw(server, head("GET", target, {"Connection": "close"}) + b"\r\n")
            assert status_in(answer) == 401, "another spelling needs the same key"


def test_all_keys_of_a_tenant_share_its_rate(server: RunningServer) -> None:
    tenant = f"tenant {uuid4()}"
    keys = [new_key(server, "read", tenant) for _ in range(3)]
    statuses = []
    for key in keys:
        with server.client(key.key) as client:
            statuses += [recall(client).status_code for _ in range(2)]
    assert statuses == [200, 200, 200, 429, 429, 429]
    with server.client(new_key(server, "read").key) as other:
        assert recall(other).status_code == 200


@contextmanager
def streams(server: RunningServer, key: NewApiKey, count: int) -> Iterator[list[int]]:
    """Open streams; gives their statuses."""
    with ExitStack() as stack:
        client = stack.enter_context(server.client(key.key))
        yield [stack.enter_context(client.stream("GET", STREAM)).status_code for _ in range(count)]


def test_one_key_or_tenant_cannot_take_all_streams(server: RunningServer) -> None:
    greedy = f"tenant {uuid4()}"
    first, second = (new_key(server, "read", greedy) for _ in range(2))
    with streams(server, first, 3) as of_key, streams(server, second, 2) as of_tenant:
        assert of_key == [200, 200, 429]
        assert of_tenant == [200, 429]
        with streams(server, new_key(server, "read"), 2) as of_others:
            assert of_others == [200, 200]
        with server.client(first.key) as client:
            refused = client.get(STREAM)
            assert is_problem(refused, 429, "TooManyRequestsError")
            assert int(refused.headers["retry-after"]) > 0
            assert client.get("/v1/whoami").status_code == 200, "streams leave other requests alone"

    def is_free() -> bool:
        with streams(server, first, 1) as (status,):
            return status == 200

    wait_until(is_free, what="closed streams to make room")


def test_stalled_requests_of_one_key_leave_room_for_others(server: RunningServer) -> None:
    tenant = f"tenant {uuid4()}"
    greedy, sibling, last = (new_key(server, "write", tenant) for _ in range(3))
    start = b"Content-Length: 100\r\n\r\n{"
    with ExitStack() as stack:
        for key, count in ((greedy, 3), (sibling, 2)):
            for _ in range(count):
                connection = stack.enter_context(connect(server))
                connection.sendall(head("POST", "/v1/memories", JSON | authorization(key)) + start)

        def status(key: NewApiKey) -> int:
            with server.client(key.key) as client:
                return client.get("/v1/whoami").status_code

        wait_until(lambda: status(greedy) == 429, what="the key to have its requests in progress")
        wait_until(lambda: status(last) == 429, what="the tenant to have its requests in progress")
        with server.client(greedy.key) as client:
            refused = client.get("/v1/whoami")
            assert is_problem(refused, 429, "TooManyRequestsError")
            assert refused.headers["retry-after"] == "1"
        assert status(new_key(server)) == 200
    wait_until(lambda: status(greedy) == 200, what="requests that ended to make room")


def test_bodies_in_memory_are_bounded_for_each_key(server: RunningServer) -> None:
    greedy, other = new_key(server), new_key(server)
    half = b'{"content": "' + b"x" * 600_000
    body = half + b'"}'
    with ExitStack() as stack:
        held = begun_body(stack, server, greedy, half)

        def is_held() -> bool:
            """The second body of the two that come at about the same time is refused: that may be `held`."""
            nonlocal held
            refused = is_refused_now(server, greedy, body)
            was_refused, _, _ = select.select([held], [], [], 0)
            if was_refused:
                held = begun_body(stack, server, greedy, half)
            return refused and not was_refused

        wait_until(is_held, what="the key to hold its share")
        with server.client(other.key) as neighbour:
            answer = neighbour.post("/v1/memories", content=body, headers=JSON)
            assert answer.status_code == 422, "read whole; only its content is too long"
    wait_until(lambda: not is_refused_now(server, greedy, body), what="the share to be given back")


def begun_body(stack: ExitStack, server: RunningServer, key: NewApiKey, start: bytes) -> socket.socket:
    """A request whose body has begun; it may be refused before everything is sent."""
    connection = stack.enter_context(connect(server))
    framing = b"Content-Length: 900000\r\n\r\n"
    with suppress(ConnectionError):
        connection.sendall(head("POST", "/v1/memories", JSON | authorization(key)) + framing + start)
    return connection


def is_refused_now(server: RunningServer, key: NewApiKey, body: bytes) -> bool:
    with server.client(key.key) as client:
        return client.post("/v1/memories", content=body, headers=JSON).status_code == 429


def test_idle_connections_do_not_keep_others_out(server: RunningServer) -> None:
    with ExitStack() as stack:
        for _ in range(150):
            idle = stack.enter_context(connect(server))
            idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert idle.recv(1), "a connection is idle once it was answered"
        for _ in range(3):
            with server.client() as client:
                assert client.get("/healthz").status_code == 200


def test_a_flood_of_wrong_keys_leaves_good_ones_alone(server: RunningServer) -> None:
    good = new_key(server)
    with ExitStack() as stack, server.client(good.key) as client:
        for _ in range(50):
            wrong = stack.enter_context(connect(server))
            headers = {"Authorization": f"Bearer mn_{uuid4().hex}{'x' * 11}"}
            wrong.sendall(head("GET", "/v1/whoami", headers) + b"\r\n")
        assert client.get("/v1/whoami").status_code == 200


SMUGGLED = b"GET /v1/whoami HTTP/1.1\r\nHost: x\r\nX-Smuggled: 1\r\n\r\n"


def test_a_request_cannot_be_hidden_in_another_one(server: RunningServer, subtests: pytest.Subtests) -> None:
    """Where length and encoding disagree, the server refuses the request instead of choosing one."""
    for name, framing in {
        "both": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "encoding first": b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        "two lengths": b"Content-Length: 0\r\nContent-Length: 60\r\n\r\n",
        "a list of lengths": b"Content-Length: 0, 60\r\n\r\n",
        "plus": b"Content-Length: +0\r\n\r\n",
        "hexadecimal": b"Content-Length: 0x0\r\n\r\n",
        "a space before the colon": b"Content-Length : 0\r\n\r\n",
        "an unknown encoding": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "chunked twice": b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "a bare line feed": b"Transfer-Encoding: chunked\n\r\n0\r\n\r\n",
        "a huge chunk": b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        "a negative chunk": b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
    }.items():
        with subtests.test(name):
            answer = send_raw(server, head("POST", "/v1/recall", JSON) + framing + SMUGGLED)
            assert answer.count("HTTP/1.1 ") == 1, answer
            assert status_in(answer) in (400, 401), answer
            assert "connection: close" in answer.lower()


def test_requests_sent_ahead_are_bounded(server: RunningServer) -> None:
    key = authorization(new_key(server))
    one = head("GET", "/healthz", key) + b"\r\n"
    with connect(server) as connection:
        connection.sendall(one * 50 + head("GET", "/healthz", {"Connection": "close"}) + b"\r\n")
        assert rest_of(connection).count("HTTP/1.1 200 OK") == 51
    # Also behind a body, which is parsed in one piece.
    body = b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n" + b"x" * 50_000
    for first in (b"", body):
        with connect(server) as connection, suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(first + b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * PIPELINED_MAX * 100)
            assert rest_of(connection).count("HTTP/1.1 200 OK") < PIPELINED_MAX * 100
    with server.client() as client:
        assert client.get("/healthz").status_code == 200


def test_expect_continue_is_answered_before_the_body(server: RunningServer) -> None:
    key = authorization(new_key(server, owner="alice"))
    body = json.dumps({"content": "Tea."}).encode()
    with connect(server) as connection:
        framing = f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n".encode()
        connection.sendall(head("POST", "/v1/memories", JSON | key) + framing)
        assert connection.recv(65536).startswith(b"HTTP/1.1 100 Continue")
        connection.sendall(body)
        assert status_in(rest_of(connection)) == 200
    with connect(server) as connection:
        framing = b"Content-Length: 999999999\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
        connection.sendall(head("POST", "/v1/memories", JSON) + framing)
        assert status_in(rest_of(connection)) == 401, "a body that is refused is not asked for"


def test_half_closed_connections_are_survived(server: RunningServer) -> None:
    key = authorization(new_key(server))
    for request in (
        head("GET", "/v1/whoami", key) + b"\r\n",
        head("POST", "/v1/memories", JSON | key) + b"Content-Length: 100\r\n\r\n{",
        b"GET /healthz HT",
    ):
        with connect(server) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            rest_of(connection)
    with server.client() as client:
        assert client.get("/healthz").status_code == 200


def test_a_client_that_reads_nothing_is_disconnected(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks for more than the buffers hold and never reads: its connection, task and memory are freed."""
    monkeypatch.setattr("mnemic.server.protocol.RESPONSE_PAUSE_S", 0.5)
    with attacked_server(folder) as server:
        key = new_key(server, owner="alice")
        with server.client(key.key) as client:
            for number in range(4):
                body = {"content": f"Tea {number}.", "metadata": {"a": uuid4().hex * 30_000}}
                client.post("/v1/memories", json=body).raise_for_status()
        with connect(server) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            request = (
                head("GET", "/v1/memories", authorization(key) | {"Accept-Encoding": "identity"}) + b"\r\n"
            )
            connection.sendall(request * 10)
            wait_until(lambda: not server.server.server_state.connections, what="the connection to end")
            wait_until(lambda: not server.server.server_state.tasks, what="its request to end")


def test_a_stream_that_nobody_reads_is_closed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemic.server.protocol.RESPONSE_PAUSE_S", 0.5)
    monkeypatch.setattr("mnemic.server.stream.HEARTBEAT", b":" + b"x" * 10_000 + b"\n\n")
    with attacked_server(folder, heartbeat_s=0.001) as server:
        with connect(server) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            key = new_key(server, "read")
            connection.sendall(head("GET", STREAM, authorization(key)) + b"\r\n")
            wait_until(lambda: bool(server.server_app.streams.quota._used), what="the stream to open")
            # Small buffers of the kernel, so that heartbeats fill them quickly.
            shrink_buffers(server)
            wait_until(lambda: not server.server.server_state.connections, what="the connection to end")
        wait_until(lambda: not server.server_app.streams.quota._used, what="the stream to end")


def shrink_buffers(server: RunningServer) -> None:
    for each in list(server.server.server_state.connections):
        sock = each.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        each.transport.set_write_buffer_limits(high=4096)
