"""Bytes that pass the proxy unchanged, in both directions."""

import gzip
import json
import socket
from hashlib import sha256

import httpx
import pytest
import zstandard

from mnemic.maintenance.exposition import proxy_metrics
from tests.proxy.raw_upstream import CHUNKED_HEAD, RawUpstream, Received, chunk, response
from tests.proxy.running import RunningProxy
from tests.waiting import wait_until

NO_TOOLS = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
PLAIN = [
    json.dumps(NO_TOOLS).encode(),
    json.dumps(NO_TOOLS, indent=4).encode() + b"\n\n",
    b'{"model": "m", "temperature": 1.0, "seed": 1152921504606846976, "x": 1E2, "messages": []}',
    b'{"model": "m", "big": 123456789012345678901234567890, "messages": []}',
    b'{"model": "m", "messages": [{"role": "user", "content": "\\ud800 alone"}]}',
    b'{"model": "m", "messages": [{"role": "user", "content": "\xff\xfe"}]}',
    b'{"model": "m", "model": "n", "messages": []}',
    b"{ this is not JSON",
    b"[1, 2]",
    b"null",
    b"",
]
PATHS = ("/v1/messages", "/v1/chat/completions", "/v1/responses")
STREAM = b'event: ping\ndata: {"type": "ping"}\n\n: comment\r\n\r\ndata: [DONE]\n\n'


def test_bodies_that_the_proxy_does_not_change_arrive_with_the_same_bytes(
    proxy: RunningProxy, upstream: RawUpstream, subtests: pytest.Subtests
) -> None:
    compressed = [
        (gzip.compress(PLAIN[0]), "gzip"),
        (zstandard.compress(PLAIN[0]), "zstd"),
        (b"\x1f\x8b broken", "gzip"),
        (b"anything", "br"),
    ]
    cases = [*((body, "identity") for body in PLAIN), *compressed]
    with proxy.client() as client:
        for path in PATHS:
            for body, encoding in cases:
                with subtests.test(path=path, body=body[:30], encoding=encoding):
                    headers = {"content-encoding": encoding, "content-type": "application/json"}
                    answer = client.post(path, content=body, headers=headers)
                    assert answer.status_code == 200
                    assert upstream.received[-1].digest == sha256(body).hexdigest()
                    assert upstream.received[-1].header("content-encoding") == encoding


def test_headers_pass_except_those_of_a_connection(proxy: RunningProxy, upstream: RawUpstream) -> None:
    with proxy.client() as client:
        client.post(
            "/v1/messages?beta=true&x=%2F",
            content=PLAIN[0],
            headers={
                "x-api-key": "sk-ant-secret",
                "anthropic-beta": "a,b",
                "x-unknown": "kept",
                "connection": "keep-alive, x-hop",
                "x-hop": "dropped",
                "te": "trailers",
                "x-mnemic-note": "dropped",
                "user-agent": "mine",
            },
        )
    (received,) = upstream.received
    assert received.target == "/v1/messages?beta=true&x=%2F"
    assert received.header("x-api-key") == "sk-ant-secret"
    assert received.header("anthropic-beta") == "a,b"
    assert received.header("x-unknown") == "kept"
    assert received.header("user-agent") == "mine"
    assert received.header("host") == upstream.url.removeprefix("http://")
    assert all(received.header(name) is None for name in ("x-hop", "te", "x-mnemic-note"))


def test_errors_of_the_provider_are_relayed_verbatim(
    proxy: RunningProxy, upstream: RawUpstream, subtests: pytest.Subtests
) -> None:
    for status in ("400 Bad Request", "429 Too Many Requests", "500 Internal Server Error", "529 Overloaded"):
        body = b'{"type":"error", "error":  {"type":"x","message":"exact  spacing"}}\n'
        headers = (("retry-after", "17"), ("request-id", "req_7"), ("Content-Type", "application/json"))
        upstream.answer = lambda received, connection, status=status, body=body, headers=headers: (  # type: ignore[misc]
            connection.sendall(response(body, status, headers))
        )
        for path in PATHS:
            with subtests.test(status=status, path=path), proxy.client() as client:
                answer = client.post(path, content=PLAIN[0])
                assert answer.status_code == int(status[:3])
                assert answer.content == body
                assert answer.headers["retry-after"] == "17"
                assert answer.headers["request-id"] == "req_7"


def test_a_compressed_response_stays_compressed(proxy: RunningProxy, upstream: RawUpstream) -> None:
    body = gzip.compress(b'{"id": 1}')
    headers = (("content-encoding", "gzip"), ("content-type", "application/json"))
    upstream.answer = lambda received, connection: connection.sendall(response(body, headers=headers))
    with proxy.client() as client, client.stream("POST", "/v1/messages", content=PLAIN[0]) as answer:
        assert b"".join(answer.iter_raw()) == body


def test_a_stream_arrives_with_the_same_bytes_wherever_it_is_split(
    proxy: RunningProxy, upstream: RawUpstream
) -> None:
    def answer_in_bytes(received: Received, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(CHUNKED_HEAD)
        for byte in STREAM:
            connection.sendall(chunk(bytes([byte])))
        connection.sendall(chunk(b""))

    upstream.answer = answer_in_bytes
    with proxy.client() as client:
        answer = client.post("/v1/messages", content=PLAIN[0])
    assert answer.content == STREAM
    assert answer.headers["request-id"] == "req_1"


def test_a_response_that_breaks_off_breaks_off_for_the_client(
    proxy: RunningProxy, upstream: RawUpstream
) -> None:
    def break_off(received: Received, connection: socket.socket) -> None:
        connection.sendall(CHUNKED_HEAD + chunk(STREAM[:20]))
        connection.shutdown(socket.SHUT_RDWR)

    upstream.answer = break_off
    with (
        proxy.client() as client,
        pytest.raises(httpx.RemoteProtocolError),
        client.stream("POST", "/v1/messages", content=PLAIN[0]) as answer,
    ):
        answer.read()


def test_a_client_that_goes_away_cancels_the_request_to_the_provider(
    proxy: RunningProxy, upstream: RawUpstream
) -> None:
    def stream_for_ever(received: Received, connection: socket.socket) -> None:
        connection.sendall(CHUNKED_HEAD)
        while True:
            connection.sendall(chunk(STREAM * 100))

    upstream.answer = stream_for_ever
    with proxy.client() as client, client.stream("POST", "/v1/messages", content=PLAIN[0]) as answer:
        next(answer.iter_raw())
    wait_until(lambda: upstream.closed_early >= 1, what="the provider's connection to be closed")


def test_absolute_targets_reach_the_configured_provider_only(
    proxy: RunningProxy, upstream: RawUpstream, subtests: pytest.Subtests
) -> None:
    """A target such as http://evil.example/v1/messages names another host; so does the header Host."""
    host, _, port = proxy.url.removeprefix("http://").partition(":")
    for target in (
        "http://evil.example/v1/messages",
        "http://evil.example:80/v1/models",
        "//evil.example/v1/x",
    ):
        upstream.received.clear()
        head = f"POST {target} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 2\r\n\r\n{{}}"
        with subtests.test(target), socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(head.encode())
            status = int(connection.recv(1 << 16).split()[1])
            assert all(
                one.header("host") == upstream.url.removeprefix("http://") for one in upstream.received
            )
            assert not any("evil" in one.target for one in upstream.received)
            assert status in (200, 400, 404)


def test_metrics_name_the_reasons_of_unchanged_requests(proxy: RunningProxy, upstream: RawUpstream) -> None:
    with proxy.client() as client:
        client.post("/v1/messages", content=PLAIN[0])
        client.post("/v1/chat/completions", content=b"{ this is not JSON")
    families = {family.name: family for family in proxy_metrics(proxy.tenants.call_metrics.proxy)}
    samples = families["mnemic_proxy_requests_passed"].samples
    assert {"api": "anthropic", "reason": "no tools"} in [sample.labels for sample in samples]
    assert {sample.labels["api"] for sample in samples} >= {"anthropic", "chat"}
    assert all(sample.value > 0 for sample in samples)


def test_other_paths_pass_with_bodies_and_methods(proxy: RunningProxy, upstream: RawUpstream) -> None:
    body = b"x" * 3_000_000
    with proxy.client() as client:
        client.post("/v1/files?a=b", content=body)
        client.get("/v1/models", headers={"anthropic-version": "2023-06-01"})
        client.delete("/v1/files/f%201")
    seen = [(each.method, each.target, len(each.body)) for each in upstream.received]
    assert seen == [
        ("POST", "/v1/files?a=b", len(body)),
        ("GET", "/v1/models", 0),
        ("DELETE", "/v1/files/f%201", 0),
    ]
    assert upstream.received[0].body == body


def test_a_proxy_error_has_the_shape_of_the_api(
    proxy: RunningProxy, upstream: RawUpstream, subtests: pytest.Subtests
) -> None:
    with proxy.client() as client:
        with subtests.test("an unknown path"):
            answer = client.get("/nowhere", headers={"anthropic-version": "2023-06-01"})
            assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found_error")
            answer = client.get("/nowhere")
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_url")
        with subtests.test("a path that climbs"):
            for path in (b"/v1/../admin", b"/v1/%2e%2e/admin", b"/v1/a/%2E./b"):
                request = client.build_request("GET", "/", extensions={"target": path})
                assert client.send(request).status_code == 404
        assert not upstream.received
