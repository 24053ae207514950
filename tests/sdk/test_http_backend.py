"""The HTTP backend: retries, streams, secrecy of the API key, validation before a request is sent."""

import json
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from mnemic import AsyncMemory, Memory
from mnemic.config import load_settings
from mnemic.errors import (
    ConfigurationError,
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    MnemicError,
    NotAuthenticatedError,
    NotFoundError,
    ServerError,
    ServerUnavailableError,
    TooManyRequestsError,
)
from mnemic.sdk.http import connection, event_stream
from mnemic.sdk.http.connection import ATTEMPTS_MAX
from tests.sdk.scripted_http import DISCONNECT, Response, ScriptedServer, problem, scripted_server

KEY = "mn_very-secret-key-of-the-tests"
STORED = b'{"owner":"o","key":"k","document":1,"version":1,"process":"p","created_at":"2026-01-01T00:00:00Z",'
STORED += b'"updated_at":"2026-01-01T00:00:00Z"}'
BUSY = problem(503, "DatabaseUnavailableError", "The database is away.")


@pytest.fixture(autouse=True)
def short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the delays between attempts."""
    monkeypatch.setattr(connection, "BACKOFF_FIRST_S", 0.001)
    monkeypatch.setattr(event_stream, "RECONNECT_DELAY_S", 0.001)


@asynccontextmanager
async def connected_to(*responses: Response) -> AsyncIterator[tuple[AsyncMemory, ScriptedServer]]:
    async with (
        scripted_server(*responses) as server,
        AsyncMemory(server.url, api_key=KEY, owner="alice/ü", channel="büro", process="tests") as memory,
    ):
        yield memory, server


async def test_a_read_is_retried_until_it_succeeds() -> None:
    async with connected_to(BUSY, DISCONNECT, Response()) as (memory, server):
        assert await memory.memories.list() == []
    assert [sent.method for sent in server.requests] == ["GET"] * 3
    assert not any("idempotency-key" in sent.headers for sent in server.requests)


async def test_a_retried_write_has_the_same_idempotency_key() -> None:
    async with connected_to(DISCONNECT, BUSY, Response(body=STORED), Response(body=STORED)) as (
        memory,
        server,
    ):
        await memory.state.set("k", 1)
        await memory.state.set("k", 1)
    keys = [sent.headers["idempotency-key"] for sent in server.requests]
    assert len(set(keys[:3])) == 1
    assert keys[3] != keys[0]
    assert len({sent.body for sent in server.requests}) == 1


async def test_retries_end_after_the_last_attempt() -> None:
    async with connected_to(*[BUSY] * ATTEMPTS_MAX) as (memory, server):
        with pytest.raises(MnemicError, match="The database is away"):
            await memory.memories.list()
    assert len(server.requests) == ATTEMPTS_MAX
    async with connected_to(*[DISCONNECT] * ATTEMPTS_MAX) as (memory, server):
        with pytest.raises(ServerUnavailableError, match=r"cannot be reached .* may not have been stored"):
            await memory.state.set("k", 1)
    assert len(server.requests) == ATTEMPTS_MAX
    async with connected_to(*[DISCONNECT] * ATTEMPTS_MAX) as (memory, _):
        with pytest.raises(ServerUnavailableError) as caught:
            await memory.memories.list()
    assert "stored" not in str(caught.value), "a call that only reads writes nothing"


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (problem(422, "InvalidInputError", "Wrong."), InvalidInputError),
        (problem(409, "ConflictError", "Changed."), ConflictError),
        (problem(401, "NotAuthenticatedError", "Who?"), NotAuthenticatedError),
        (problem(500, "SomethingNew", "Oh."), ServerError),
        (problem(500, "MissingPrivilegeError", "Oh."), ServerError),
        (problem(500, "__doc__", "Oh."), ServerError),
        (Response(418, b"<html>"), ServerError),
        (Response(500, b"[1]"), ServerError),
        (Response(200, b"<html>"), ServerError),
        (Response(200, b'{"hits": 1}'), ServerError),
        (Response(302, b"", {"Location": "https://elsewhere.example"}), ServerError),
    ],
)
async def test_an_error_is_raised_without_a_retry(response: Response, error: type[MnemicError]) -> None:
    async with connected_to(response) as (memory, server):
        with pytest.raises(error) as caught:
            await memory.memories.list()
    assert type(caught.value) is error
    assert len(server.requests) == 1


async def test_retry_after_is_respected_up_to_a_limit() -> None:
    again = problem(409, "ConflictError", "Still at it.", Retry_After="0")
    async with connected_to(again, Response(body=STORED)) as (memory, server):
        assert (await memory.state.set("k", 1)).version == 1
    assert len(server.requests) == 2
    long = problem(429, "TooManyRequestsError", "Too often.", Retry_After="3600")
    async with connected_to(long) as (memory, server):
        with pytest.raises(TooManyRequestsError, match="Too often") as caught:
            await memory.recall("x")
    assert caught.value.retry_after_s == 3600
    assert len(server.requests) == 1


async def test_a_stream_is_not_retried() -> None:
    async with connected_to(DISCONNECT) as (memory, server):
        with pytest.raises(ServerUnavailableError):
            await memory.retain_many(f"item {number}" for number in range(3))
    (sent,) = server.requests
    assert b'"item 0"\n"item 1"\n"item 2"\n' in sent.body


async def test_the_scope_is_sent_in_headers() -> None:
    async with connected_to(Response(), Response()) as (memory, server):
        await memory.memories.list()
        await memory.scope(owner="bob", process="other").memories.list(owner="eve", tags=["ü"])
    first, second = server.requests
    assert first.target == "/v1/memories"
    scope = [first.headers[f"mnemic-{name}"] for name in ("owner", "channel", "process")]
    assert scope == ["alice/%C3%BC", "b%C3%BCro", "tests"]
    assert second.headers["mnemic-owner"] == "bob"
    assert second.target == "/v1/memories?tags=%C3%BC&owner=eve"


def event(position: int) -> bytes:
    data = (
        f'{{"position":{position},"type":"state.created","owner":"o","subject":"{position}","data":{{}},'
        '"at":"2026-01-01T00:00:00Z"}'
    )
    return f"id: {position}\nevent: state.created\ndata: {data}\n\n".encode()


async def test_a_broken_event_stream_reconnects_after_the_last_event() -> None:
    first = Response(body=b": nothing happens\n\n" + event(5) + event(6), is_stream=True)
    then = Response(body=event(7), is_stream=True)
    async with connected_to(first, DISCONNECT, then) as (memory, server):
        seen = []
        async for found in memory.events.subscribe(types=["state.created"], start=4):
            seen.append(found.position)
            if found.position == 7:
                break
    assert seen == [5, 6, 7]
    assert [sent.headers.get("last-event-id") for sent in server.requests] == [None, "6", "6"]
    assert server.requests[0].target == "/v1/events/stream?types=state.created&start=4"


async def test_a_stream_reconnects_after_the_last_position_when_the_server_is_busy() -> None:
    first = Response(body=event(5) + b"id: 8\n: nothing happens\n\n", is_stream=True)
    proxy = Response(502, b"<html>")
    async with (
        connected_to(first, BUSY, proxy, Response(body=event(9), is_stream=True)) as (memory, server),
        aclosing(memory.events.subscribe(types=["state.created"], start=4)) as events,  # type: ignore[type-var]
    ):
        assert [(await anext(events)).position for _ in range(2)] == [5, 9]
    assert [sent.headers.get("last-event-id") for sent in server.requests] == [None, "8", "8", "8"]


async def test_a_malformed_stream_is_an_error() -> None:
    for strange in (b"id: x\n\n", b"id: 5\ndata: {}\n\n"):
        async with connected_to(Response(body=strange, is_stream=True)) as (memory, _):
            with pytest.raises(ServerError, match="malformed"):
                await anext(memory.events.subscribe())


async def test_a_consumer_is_taken_and_moved_until_the_server_ends_the_stream() -> None:
    reader = "019a8f2e-6c00-7abc-8def-0123456789ab"
    taken = f'{{"consumer":"c","owner":"alice/ü","position":4,"reader":"{reader}"}}'.encode()
    events = Response(body=event(5) + event(6), is_stream=True)
    gone = problem(404, "NotFoundError", "The events are no longer kept.")
    moved = Response(204, b"")
    async with connected_to(Response(body=taken), DISCONNECT, events, DISCONNECT, moved, moved, gone) as (
        memory,
        server,
    ):
        seen = memory.events.subscribe("c", start="beginning")
        assert [(await anext(seen)).position for _ in range(2)] == [5, 6]
        with pytest.raises(NotFoundError, match="no longer kept"):
            await anext(seen)
    targets = [sent.target.partition("?")[0].rpartition("/")[2] for sent in server.requests]
    assert targets == ["take", "stream", "stream", "move", "move", "move", "stream"]
    moves = [json.loads(sent.body) for sent in server.requests if sent.target.endswith("/move")]
    held = {"reader": reader, "owner": "alice/ü"}
    assert moves == [
        {**held, "expected": 4, "position": 5},
        {**held, "expected": 4, "position": 5},
        {**held, "expected": 5, "position": 6},
    ]
    places = [sent.headers["last-event-id"] for sent in server.requests if "stream" in sent.target]
    assert places == ["4", "4", "6"]


async def test_a_forbidden_stream_is_an_error() -> None:
    async with connected_to(problem(401, "NotAuthenticatedError", "Revoked.")) as (memory, _):
        with pytest.raises(NotAuthenticatedError, match="Revoked"):
            await anext(memory.events.subscribe())
    async with connected_to(problem(403, "ForbiddenError", "Only to read.")) as (memory, server):
        with pytest.raises(ForbiddenError, match="Only to read"):
            await anext(memory.events.subscribe("a name"))
    assert [sent.target for sent in server.requests] == ["/v1/event-consumers/a%20name/take"]


async def test_the_api_key_appears_in_no_message_or_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with connected_to(Response(), *[DISCONNECT] * ATTEMPTS_MAX) as (memory, server):
        await memory.memories.list()
        with pytest.raises(ServerUnavailableError) as caught:
            await memory.memories.list()
        texts = [
            caplog.text,
            str(caught.value),
            repr(caught.value.__cause__),
            repr(memory),
            repr(vars(memory)),
        ]
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert not any(KEY in text for text in texts)


async def test_local_only_calls_say_why_they_fail() -> None:
    async with connected_to() as (memory, _):
        with pytest.raises(
            ConfigurationError, match=r"memory\.admin\.backup is not available over HTTP: it reads"
        ):
            await memory.admin.backup("x")
        with pytest.raises(ConfigurationError, match="needs direct access to the database"):
            memory.jobs.handler("x")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"url": "http://memory.example", "api_key": KEY}, "unencrypted"),
        ({"url": "http://127.0.0.1.example", "api_key": KEY}, "unencrypted"),
        ({"url": "http://localhost:1"}, "needs an API key"),
        ({"url": f"https://user:{KEY}@memory.example", "api_key": KEY}, "no user, password"),
        ({"url": f"https://memory.example/?key={KEY}", "api_key": KEY}, "no user, password"),
        ({"url": "https://", "api_key": KEY}, "has no host"),
        ({"url": f"https://memory.example:{KEY}", "api_key": KEY}, "is not a number"),
        ({"url": "https://memory.example", "api_key": f"{KEY}\nX: y"}, "invalid characters"),
        ({"url": "https://memory.example", "api_key": KEY, "embedder": "test"}, "its own models"),
        ({"url": "postgresql://127.0.0.1/x", "api_key": KEY}, "api_key needs"),
    ],
)
def test_invalid_options_fail_before_a_request_is_sent(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint) as caught:
        Memory(**options)
    assert KEY not in str(caught.value)


def test_an_unreachable_server_is_a_clear_error() -> None:
    with pytest.raises(ServerUnavailableError, match=r"http://127\.0\.0\.1:1 cannot be reached"):
        Memory("http://127.0.0.1:1", api_key=KEY)


async def test_the_environment_names_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted_server(Response()) as server:
        monkeypatch.setenv("MNEMIC_DATABASE_URL", server.url)
        monkeypatch.setenv("MNEMIC_API_KEY", KEY)
        # A proxy would get the key to see: what goes to this machine stays on it.
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
        async with AsyncMemory(owner="alice") as memory:
            assert memory.tenant.name == "acme"
            assert await memory.memories.list() == []


async def test_certificates_are_checked() -> None:
    http_connection = connection.HttpConnection(
        load_settings(database_url="https://memory.example", api_key=KEY)
    )
    context = http_connection._client._transport._pool._ssl_context  # type: ignore[attr-defined]
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    await http_connection.aclose()
