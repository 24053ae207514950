"""Authentication: keys that are missing, wrong, ended, too weak or foreign; odd headers and paths."""

import asyncio
import logging
import re
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import psycopg
import pytest

from mnemic.db.database import Database
from mnemic.errors import TooManyRequestsError
from mnemic.govern import keys
from mnemic.govern.keys import AuthenticatedKey
from mnemic.sdk.http.surface import SURFACE, Route
from mnemic.sdk.http.wire import Call
from mnemic.sdk.memory import AsyncMemory
from mnemic.server.limits import HEADERS_MAX_BYTES
from mnemic.types.key import allows
from mnemic.types.recalled import Recalled
from tests.server.conftest import OpenClient, retained
from tests.server.running import CALL_TIMEOUT_S, RunningServer
from tests.waiting import wait_until

CONTENT = "Alice hides the gold in the old mill."
NOBODYS = "mn_" + "x" * 43


def is_problem(answer: httpx.Response, status: int, error: str) -> bool:
    """Whether it is problem+json of this kind, with the same id in the body and the header."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert problem["request_id"] == answer.headers["x-request-id"]
    return bool(problem["error"] == error)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        f"Basic {NOBODYS}",
        NOBODYS,
        f"Bearer {NOBODYS} {NOBODYS}",
        f"Bearer {NOBODYS}",
        f"Bearer  {NOBODYS[:-1]}",
        "Bearer mn_",
        "Bearer " + "x" * 8000,
        "Bearer ' OR 1=1 --",
    ],
)
def test_without_a_valid_key_every_path_is_401(stranger: httpx.Client, header: str | None) -> None:
    headers = {"Authorization": header} if header is not None else {}
    for method, path in (
        ("GET", "/v1/memories"),
        ("POST", "/v1/recall"),
        ("GET", "/v1/nowhere"),
        ("GET", "/v1"),
    ):
        answer = stranger.request(method, path, headers=headers)
        assert is_problem(answer, 401, "NotAuthenticatedError")
        assert answer.headers["www-authenticate"].startswith("Bearer")


def test_the_scheme_is_case_insensitive(server: RunningServer, tenant: str, stranger: httpx.Client) -> None:
    key = server.create_key(tenant, "read").key
    for scheme in ("bearer", "BEARER"):
        assert stranger.get("/v1/whoami", headers={"Authorization": f"{scheme} {key}"}).status_code == 200


def test_a_key_is_accepted_only_in_its_header(
    server: RunningServer, tenant: str, stranger: httpx.Client
) -> None:
    key = server.create_key(tenant, "read").key
    for options in (
        {"params": {"api_key": key, "access_token": key}},
        {"headers": {"Cookie": f"Authorization=Bearer {key}"}},
        {"headers": {"X-Api-Key": key, "Proxy-Authorization": f"Bearer {key}"}},
        {"headers": {"X-Forwarded-Authorization": f"Bearer {key}"}},
    ):
        answer = stranger.request("GET", "/v1/whoami", **options)  # type: ignore[arg-type]
        assert answer.status_code == 401


def test_two_authorization_headers_are_refused(
    server: RunningServer, tenant: str, stranger: httpx.Client
) -> None:
    key = server.create_key(tenant, "read").key
    headers = [("Authorization", f"Bearer {key}"), ("Authorization", f"Bearer {key}")]
    assert is_problem(stranger.get("/v1/whoami", headers=headers), 401, "NotAuthenticatedError")


def test_forwarded_headers_change_nothing(stranger: httpx.Client) -> None:
    headers = {
        "X-Forwarded-For": "127.0.0.1",
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "https",
        "X-Original-URL": "/healthz",
        "X-Rewrite-URL": "/healthz",
        "X-HTTP-Method-Override": "GET",
        "Forwarded": "for=127.0.0.1",
        "Host": "evil.example",
    }
    answer = stranger.post("/v1/recall", headers=headers)
    assert is_problem(answer, 401, "NotAuthenticatedError")
    assert "evil.example" not in answer.text + str(answer.headers)


def test_a_revoked_key_is_refused_from_the_next_request_on(
    server: RunningServer, tenant: str, stranger: httpx.Client
) -> None:
    made = server.create_key(tenant, "read")
    headers = {"Authorization": f"Bearer {made.key}"}
    assert stranger.get("/v1/whoami", headers=headers).status_code == 200
    server.run(server.memory(tenant).keys.revoke(made.key_id))
    answer = stranger.get("/v1/whoami", headers=headers)
    assert is_problem(answer, 401, "NotAuthenticatedError")
    assert "revoked" in answer.json()["detail"]


def test_a_recall_with_a_cached_key_waits_for_the_lookup_before_it_responds(
    server: RunningServer, tenant: str, writer: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recall runs meanwhile; its response waits, and is never sent if the key has ended."""
    retained(writer, CONTENT)
    made = server.create_key(tenant, "read")
    may_look, recalled, find = asyncio.Event(), threading.Event(), keys.find

    async def find_later(database: Database, secret: str) -> AuthenticatedKey:
        await may_look.wait()
        return await find(database, secret)

    async def recall(memory: AsyncMemory, *arguments: Any, **named: Any) -> Recalled:
        found = await AsyncMemory.recall(memory, *arguments, **named)
        recalled.set()
        return found

    question = {"query": "Where is the gold?", "owner": "alice", "refuse_below": 0}
    with server.client(made.key) as reader, ThreadPoolExecutor(1) as elsewhere:
        assert CONTENT in reader.post("/v1/recall", json=question).text
        monkeypatch.setattr(keys, "find", find_later)
        monkeypatch.setattr(Call, "of", lambda call, memory: partial(recall, memory))
        asked = elsewhere.submit(reader.post, "/v1/recall", json=question)
        assert recalled.wait(CALL_TIMEOUT_S), "the recall does not wait for the key"
        monkeypatch.undo()
        server.run(server.memory(tenant).keys.revoke(made.key_id))
        assert not asked.done()
        server.loop.call_soon_threadsafe(may_look.set)
        answer = asked.result(CALL_TIMEOUT_S)
    assert is_problem(answer, 401, "NotAuthenticatedError")
    assert CONTENT not in answer.text


def test_a_cached_key_that_has_ended_gets_401_instead_of_other_errors(
    server: RunningServer, tenant: str
) -> None:
    """Neither an invalid body nor the rate limit hides that the key has ended."""
    made = server.create_key(tenant, "read")
    rates = server.server_app.authenticator._key_recalls
    with server.client(made.key) as reader:
        assert reader.post("/v1/recall", json={"query": "gold", "owner": "alice"}).status_code == 200
        known = dict(server.server_app.authenticator._cached)
        server.run(server.memory(tenant).keys.revoke(made.key_id))

        def asked(**request: Any) -> httpx.Response:
            # As if no other request had been refused yet.
            server.server_app.authenticator._cached.update(known)
            return reader.post("/v1/recall", **request)

        mistakes: list[dict[str, Any]] = [{"content": b"gold"}, {"json": {"quest": "gold"}}, {"json": {}}]
        for wrong in mistakes:
            assert is_problem(asked(**wrong), 401, "NotAuthenticatedError")
        while True:
            try:
                rates.take(made.key_id)
            except TooManyRequestsError:
                break
        answer = asked(json={"query": "gold", "owner": "alice"})
        assert is_problem(answer, 401, "NotAuthenticatedError")


def test_a_write_with_a_cached_key_waits_for_the_lookup(server: RunningServer, tenant: str) -> None:
    made = server.create_key(tenant, "write")
    with server.client(made.key) as writer:
        assert writer.post("/v1/recall", json={"query": "gold", "owner": "alice"}).status_code == 200
        server.run(server.memory(tenant).keys.revoke(made.key_id))
        for path, body in (("/v1/memories", {"content": CONTENT}), ("/v1/recall", {"query": "gold"})):
            answer = writer.post(path, json={**body, "owner": "alice"})
            assert is_problem(answer, 401, "NotAuthenticatedError")
    assert server.run(server.memory(tenant).memories.list(owner="alice")) == []


def test_an_expired_key_is_refused(server: RunningServer, tenant: str, stranger: httpx.Client) -> None:
    made = server.create_key(tenant, "read", expires_at="9999-01-01T00:00:00Z")
    headers = {"Authorization": f"Bearer {made.key}"}
    assert stranger.get("/v1/whoami", headers=headers).status_code == 200
    expire(server, tenant, str(made.key_id))
    answer = stranger.get("/v1/whoami", headers=headers)
    assert is_problem(answer, 401, "NotAuthenticatedError")
    assert "expired" in answer.json()["detail"]


def expire(server: RunningServer, tenant: str, key_id: str) -> None:
    """Expire a key in the database, as an administrator."""
    place = server.tenants._host.storage.server
    assert place is not None
    with psycopg.connect(place.conninfo(user="mnemic", dbname="mnemic"), autocommit=True) as connection:
        connection.execute(
            "UPDATE state.api_keys SET created_at = now() - interval '2 h', expires_at = now()"
            " WHERE key_id = %s",
            [key_id],
        )


def filled(route: Route) -> str:
    """The path of a route with values that do not exist."""
    path = route.path
    for name in ("memory_id", "from_id", "like_id", "grant_id", "key_id", "job_id", "webhook_id"):
        path = path.replace(f"{{{name}}}", str(uuid4()))
    return path.replace("{", "").replace("}", "")


def test_every_route_requires_its_role(
    stranger: httpx.Client, weak_clients: dict[str, httpx.Client], subtests: pytest.Subtests
) -> None:
    for route in SURFACE:
        with subtests.test(f"{route.method} {route.path}"):
            check_role(route, stranger, weak_clients)


def check_role(route: Route, stranger: httpx.Client, weak_clients: dict[str, httpx.Client]) -> None:
    assert stranger.request(route.method, filled(route)).status_code == 401
    for role, client in weak_clients.items():
        if not allows(role, route.role):  # type: ignore[arg-type]
            answer = client.request(route.method, filled(route))
            assert is_problem(answer, 403, "ForbiddenError")
            assert route.role in answer.json()["detail"]


@pytest.fixture(scope="module")
def weak_clients(server: RunningServer) -> Iterator[dict[str, httpx.Client]]:
    """Clients with the roles read and write."""
    tenant = f"tenant {uuid4()}"
    with (
        server.client(server.create_key(tenant, "read").key) as reader,
        server.client(server.create_key(tenant, "write").key) as writer,
    ):
        yield {"read": reader, "write": writer}


def test_a_read_key_writes_nothing(client_as: OpenClient, writer: httpx.Client) -> None:
    memory_id = retained(writer, CONTENT)
    reader = client_as("read")
    assert reader.post("/v1/recall", json={"query": "gold", "owner": "alice"}).json()["hits"]
    for answer in (
        reader.post("/v1/memories", json={"content": "x", "owner": "alice"}),
        reader.post(f"/v1/memories/{memory_id}/forget", json={"owner": "alice"}),
        reader.post("/v1/memories/batch", content=b'"x"\n', headers={"Content-Type": "application/x-ndjson"}),
    ):
        assert is_problem(answer, 403, "ForbiddenError")
    assert len(reader.get("/v1/memories", params={"owner": "alice"}).json()) == 1


def test_a_key_sees_nothing_of_another_tenant(server: RunningServer, writer: httpx.Client) -> None:
    memory_id = retained(writer, CONTENT, conversation="c")
    elsewhere = server.create_key(f"tenant {uuid4()}", "admin").key
    with server.client(elsewhere) as foreign:
        assert foreign.get(f"/v1/memories/{memory_id}", params={"owner": "alice"}).status_code == 404
        assert foreign.get("/v1/memories", params={"owner": "alice"}).json() == []
        assert foreign.get("/v1/owners").json() == []
        hits = foreign.post("/v1/recall", json={"query": CONTENT, "owner": "alice"}).json()["hits"]
        assert hits == []
        assert foreign.get("/v1/conversations/c", params={"owner": "alice"}).status_code == 404


def test_only_an_admin_manages_keys_and_only_of_its_tenant(
    server: RunningServer, client_as: OpenClient
) -> None:
    admin = client_as("admin")
    made = admin.post("/v1/keys", json={"role": "read", "name": "made by HTTP"})
    assert made.status_code == 200, made.text
    with server.client(made.json()["key"]) as client:
        assert client.get("/v1/whoami").json()["role"] == "read"
        key_id = made.json()["key_id"]
        assert client.get("/v1/keys").status_code == 403
        foreign = server.create_key(f"tenant {uuid4()}", "admin")
        with server.client(foreign.key) as stranger:
            assert stranger.get(f"/v1/keys/{key_id}").status_code == 404
            assert stranger.post(f"/v1/keys/{key_id}/revoke", json={}).status_code == 404
        assert client.get("/v1/whoami").status_code == 200
        assert admin.post(f"/v1/keys/{key_id}/revoke", json={}).status_code == 200
        assert client.get("/v1/whoami").status_code == 401
    assert all("key" not in key for key in admin.get("/v1/keys", params={"include_ended": "true"}).json())


@pytest.mark.parametrize(
    "target",
    [
        "//v1/memories",
        "/v1//memories",
        "/v1/./memories",
        "/healthz/../v1/memories",
        "/healthz/%2e%2e/v1/memories",
        "/v1/%2e%2e/v1/memories",
        "/v1/..%2fv1/memories",
        "/v1%2fmemories",
        "/V1/memories",
        "/v1/memories/",
        "/v1/memories%00",
        "/v1/memories%0d%0aX-Evil:%201",
        "/v1/memories;a=b",
        "/v1\\memories",
        "/%76%31/memories",
        "/v1/memories%3Fowner=alice",
        "/openapi.json/../v1/memories",
    ],
)
def test_odd_paths_are_not_found(server: RunningServer, writer: httpx.Client, target: str) -> None:
    retained(writer, CONTENT)
    bare, keyed = send_target(server, target), send_target(server, target, bearer(writer))
    for status, text in (bare, keyed):
        assert status in (400, 401, 404, 422), text
        assert CONTENT not in text
        assert "X-Evil" not in text.partition("\r\n\r\n")[0]


def bearer(client: httpx.Client) -> str:
    return client.headers["authorization"]


def send_target(server: RunningServer, target: str, authorization: str = "") -> tuple[int, str]:
    """Send a request with a raw target; returns the status and the whole response."""
    line = f"Authorization: {authorization}\r\n" if authorization else ""
    return send_raw(server, f"GET {target} HTTP/1.1\r\nHost: x\r\n{line}Connection: close\r\n\r\n".encode())


def send_raw(server: RunningServer, request: bytes) -> tuple[int, str]:
    address = urlsplit(server.url)
    with socket.create_connection((str(address.hostname), address.port or 0), timeout=30) as connection:
        connection.sendall(request)
        received = b""
        while part := connection.recv(65536):
            received += part
    text = received.decode("latin-1")
    return int(text.split(" ", 2)[1]), text


def test_huge_headers_are_refused(server: RunningServer) -> None:
    for header in ("X-Long: " + "x" * (HEADERS_MAX_BYTES + 1), "\r\n".join(f"X-{n}: y" for n in range(5000))):
        head = f"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n\r\n"
        status, _ = send_raw(server, head.encode())
        assert status in (400, 431)


def test_endless_headers_are_refused(server: RunningServer) -> None:
    status, text = send_raw(server, b"GET /healthz HTTP/1.1\r\nX-Long: " + b"x" * (HEADERS_MAX_BYTES + 1))
    assert status == 431, text


def test_pipelined_requests_are_answered_in_order(server: RunningServer) -> None:
    first = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: first\r\n\r\n"
    last = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: last\r\nConnection: close\r\n\r\n"
    _, text = send_raw(server, first + first + last)
    assert re.findall(r"x-request-id: (\w+)", text) == ["first", "first", "last"]
    assert text.count("HTTP/1.1 200 OK") == 3


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
        b"POST /v1/recall HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        b"POST /v1/recall HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/recall HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Folded: a\r\n b\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n",
        b"GET /h\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_invalid_http_is_refused(server: RunningServer, request_bytes: bytes) -> None:
    status, text = send_raw(server, request_bytes)
    assert status == 400, text


def test_a_request_id_is_used_only_if_it_is_safe_to_log(stranger: httpx.Client) -> None:
    assert stranger.get("/healthz", headers={"X-Request-Id": "abc-1"}).headers["x-request-id"] == "abc-1"
    for odd in ("a b", "x" * 65, "<script>", "ü".encode().decode("latin-1")):
        answer = stranger.get("/healthz", headers={b"X-Request-Id": odd.encode("latin-1")})
        assert len(answer.headers["x-request-id"]) == 32


def test_every_response_has_security_headers_and_no_cors_headers(
    stranger: httpx.Client, writer: httpx.Client
) -> None:
    for client, path in (
        (stranger, "/healthz"),
        (stranger, "/v1/memories"),
        (writer, "/v1/whoami"),
        (writer, "/x"),
    ):
        headers = client.get(path, headers={"Origin": "https://evil.example"}).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers
        assert not [name for name in headers if name.startswith("access-control-")]


def test_the_log_has_neither_keys_nor_contents(
    server: RunningServer, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    key = server.create_key(tenant, "write").key
    with caplog.at_level(logging.DEBUG), server.client(key) as client:
        retained(client, CONTENT, conversation="hideout")
        client.post("/v1/recall", json={"query": "where is the gold?", "owner": "alice"})
        client.get("/v1/conversations/hideout", params={"owner": "alice"})
        client.get("/v1/memories", params={"owner": "alice", "limit": "gold"})
        client.post("/v1/recall", json={"query": ["gold"], "owner": "alice"})
        client.get("/v1/gold", headers={"Authorization": f"Bearer {key[:-1]}x"})
        client.get("/gold?gold=gold")
        wait_until(lambda: "unknown" in caplog.text, what="the last line")
    ours = [record for record in caplog.records if record.name.startswith(("mnemic", "uvicorn"))]
    assert {record.__dict__.get("route") for record in ours} >= {
        "/v1/recall",
        "/v1/conversations/{conversation}",
    }
    for record in ours:
        said = record.getMessage() + str(vars(record))
        for secret in (key, key[3:20], "gold", "hideout", "alice", "mill"):
            assert secret not in said


def test_an_internal_error_does_not_reveal_its_cause(
    server: RunningServer,
    writer: httpx.Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("password=hunter2 in /etc/secret")

    monkeypatch.setattr("mnemic.mind.bundle.recall_request", fail)
    answer = writer.post("/v1/recall", json={"query": "x", "owner": "alice"})
    assert is_problem(answer, 500, "MnemicError")
    assert "hunter2" not in answer.text
    assert answer.headers["x-request-id"] in answer.json()["detail"]
    assert "hunter2" in caplog.text
