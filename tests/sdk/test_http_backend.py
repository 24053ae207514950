"""Speaking to a server: what is repeated and what is not, what is never told, what is refused at once."""

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
from tests.sdk.scripted_http import HANG_UP, Answer, Script, problem, scripted

KEY = "mn_very-secret-key-of-the-tests"
STORED = b'{"owner":"o","key":"k","document":1,"version":1,"process":"p","created_at":"2026-01-01T00:00:00Z",'
STORED += b'"updated_at":"2026-01-01T00:00:00Z"}'
BUSY = problem(503, "DatabaseUnavailableError", "The database is away.")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits for long."""
    monkeypatch.setattr(connection, "BACKOFF_FIRST_S", 0.001)
    monkeypatch.setattr(event_stream, "RECONNECT_DELAY_S", 0.001)


@asynccontextmanager
async def speaking_to(*answers: Answer) -> AsyncIterator[tuple[AsyncMemory, Script]]:
    async with (
        scripted(*answers) as script,
        AsyncMemory(script.url, api_key=KEY, owner="alice/ü", channel="büro", process="tests") as memory,
    ):
        yield memory, script


async def test_a_read_is_repeated_until_it_is_answered() -> None:
    async with speaking_to(BUSY, HANG_UP, Answer()) as (memory, script):
        assert await memory.memories.list() == []
    assert [sent.method for sent in script.heard] == ["GET"] * 3
    assert not any("idempotency-key" in sent.headers for sent in script.heard)


async def test_a_repeated_write_is_the_same_write() -> None:
    async with speaking_to(HANG_UP, BUSY, Answer(body=STORED), Answer(body=STORED)) as (memory, script):
        await memory.state.set("k", 1)
        await memory.state.set("k", 1)
    keys = [sent.headers["idempotency-key"] for sent in script.heard]
    assert len(set(keys[:3])) == 1
    assert keys[3] != keys[0]
    assert len({sent.body for sent in script.heard}) == 1


async def test_it_gives_up_after_some_attempts() -> None:
    async with speaking_to(*[BUSY] * ATTEMPTS_MAX) as (memory, script):
        with pytest.raises(MnemicError, match="The database is away"):
            await memory.memories.list()
    assert len(script.heard) == ATTEMPTS_MAX
    async with speaking_to(*[HANG_UP] * ATTEMPTS_MAX) as (memory, script):
        with pytest.raises(ServerUnavailableError, match="cannot be reached"):
            await memory.state.set("k", 1)
    assert len(script.heard) == ATTEMPTS_MAX


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (problem(422, "InvalidInputError", "Wrong."), InvalidInputError),
        (problem(409, "ConflictError", "Changed."), ConflictError),
        (problem(401, "NotAuthenticatedError", "Who?"), NotAuthenticatedError),
        (problem(500, "SomethingNew", "Oh."), ServerError),
        (problem(500, "MissingPrivilegeError", "Oh."), ServerError),
        (problem(500, "__doc__", "Oh."), ServerError),
        (Answer(418, b"<html>"), ServerError),
        (Answer(500, b"[1]"), ServerError),
        (Answer(200, b"<html>"), ServerError),
        (Answer(200, b'{"hits": 1}'), ServerError),
        (Answer(302, b"", {"Location": "https://elsewhere.example"}), ServerError),
    ],
)
async def test_an_error_is_raised_and_not_asked_for_twice(answer: Answer, error: type[MnemicError]) -> None:
    async with speaking_to(answer) as (memory, script):
        with pytest.raises(error) as caught:
            await memory.memories.list()
    assert type(caught.value) is error
    assert len(script.heard) == 1


async def test_it_waits_as_long_as_the_server_asks_within_reason() -> None:
    again = problem(409, "ConflictError", "Still at it.", Retry_After="0")
    async with speaking_to(again, Answer(body=STORED)) as (memory, script):
        assert (await memory.state.set("k", 1)).version == 1
    assert len(script.heard) == 2
    long = problem(429, "TooManyRequestsError", "Too often.", Retry_After="3600")
    async with speaking_to(long) as (memory, script):
        with pytest.raises(TooManyRequestsError, match="Too often") as caught:
            await memory.recall("x")
    assert caught.value.retry_after_s == 3600
    assert len(script.heard) == 1


async def test_a_stream_is_sent_once() -> None:
    async with speaking_to(HANG_UP) as (memory, script):
        with pytest.raises(ServerUnavailableError):
            await memory.retain_many(f"item {number}" for number in range(3))
    (sent,) = script.heard
    assert b'"item 0"\n"item 1"\n"item 2"\n' in sent.body


async def test_the_scope_goes_along() -> None:
    async with speaking_to(Answer(), Answer()) as (memory, script):
        await memory.memories.list()
        await memory.scope(owner="bob", process="other").memories.list(owner="eve", tags=["ü"])
    first, second = script.heard
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


async def test_a_broken_stream_of_events_goes_on_behind_the_last() -> None:
    first = Answer(body=b": nothing happens\n\n" + event(5) + event(6), is_stream=True)
    then = Answer(body=event(7), is_stream=True)
    async with speaking_to(first, HANG_UP, then) as (memory, script):
        seen = []
        async for found in memory.events.subscribe(types=["state.created"], start=4):
            seen.append(found.position)
            if found.position == 7:
                break
    assert seen == [5, 6, 7]
    assert [sent.headers.get("last-event-id") for sent in script.heard] == [None, "6", "6"]
    assert script.heard[0].target == "/v1/events/stream?types=state.created&start=4"


async def test_a_stream_goes_on_behind_what_it_passed_over_when_the_server_was_busy() -> None:
    first = Answer(body=event(5) + b"id: 8\n: nothing happens\n\n", is_stream=True)
    proxy = Answer(502, b"<html>")
    async with (
        speaking_to(first, BUSY, proxy, Answer(body=event(9), is_stream=True)) as (memory, script),
        aclosing(memory.events.subscribe(types=["state.created"], start=4)) as events,  # type: ignore[type-var]
    ):
        assert [(await anext(events)).position for _ in range(2)] == [5, 9]
    assert [sent.headers.get("last-event-id") for sent in script.heard] == [None, "8", "8", "8"]


async def test_a_stream_that_is_none_is_told() -> None:
    for strange in (b"id: x\n\n", b"id: 5\ndata: {}\n\n"):
        async with speaking_to(Answer(body=strange, is_stream=True)) as (memory, _):
            with pytest.raises(ServerError, match="malformed"):
                await anext(memory.events.subscribe())


async def test_under_a_name_it_takes_reads_and_moves_until_it_is_told_to_end() -> None:
    reader = "019a8f2e-6c00-7abc-8def-0123456789ab"
    taken = f'{{"consumer":"c","owner":"alice/ü","position":4,"reader":"{reader}"}}'.encode()
    events = Answer(body=event(5) + event(6), is_stream=True)
    gone = problem(404, "NotFoundError", "The events are no longer kept.")
    moved = Answer(204, b"")
    async with speaking_to(Answer(body=taken), HANG_UP, events, HANG_UP, moved, moved, gone) as (
        memory,
        script,
    ):
        seen = memory.events.subscribe("c", start="beginning")
        assert [(await anext(seen)).position for _ in range(2)] == [5, 6]
        with pytest.raises(NotFoundError, match="no longer kept"):
            await anext(seen)
    targets = [sent.target.partition("?")[0].rpartition("/")[2] for sent in script.heard]
    assert targets == ["take", "stream", "stream", "move", "move", "move", "stream"]
    moves = [json.loads(sent.body) for sent in script.heard if sent.target.endswith("/move")]
    held = {"reader": reader, "owner": "alice/ü"}
    assert moves == [
        {**held, "expected": 4, "position": 5},
        {**held, "expected": 4, "position": 5},
        {**held, "expected": 5, "position": 6},
    ]
    places = [sent.headers["last-event-id"] for sent in script.heard if "stream" in sent.target]
    assert places == ["4", "4", "6"]


async def test_a_stream_that_is_not_allowed_says_so() -> None:
    async with speaking_to(problem(401, "NotAuthenticatedError", "Revoked.")) as (memory, _):
        with pytest.raises(NotAuthenticatedError, match="Revoked"):
            await anext(memory.events.subscribe())
    async with speaking_to(problem(403, "ForbiddenError", "Only to read.")) as (memory, script):
        with pytest.raises(ForbiddenError, match="Only to read"):
            await anext(memory.events.subscribe("a name"))
    assert [sent.target for sent in script.heard] == ["/v1/event-consumers/a%20name/take"]


async def test_the_key_is_told_to_nobody(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with speaking_to(Answer(), *[HANG_UP] * ATTEMPTS_MAX) as (memory, script):
        await memory.memories.list()
        with pytest.raises(ServerUnavailableError) as caught:
            await memory.memories.list()
        told = [
            caplog.text,
            str(caught.value),
            repr(caught.value.__cause__),
            repr(memory),
            repr(vars(memory)),
        ]
    assert script.heard[0].headers["authorization"] == f"Bearer {KEY}"
    assert not any(KEY in text for text in told)


async def test_calls_that_need_the_machine_itself_say_why() -> None:
    async with speaking_to() as (memory, _):
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
def test_what_cannot_work_is_refused_before_anything_is_sent(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint) as caught:
        Memory(**options)
    assert KEY not in str(caught.value)


def test_a_server_that_is_not_there_is_a_clear_error() -> None:
    with pytest.raises(ServerUnavailableError, match=r"http://127\.0\.0\.1:1 cannot be reached"):
        Memory("http://127.0.0.1:1", api_key=KEY)


async def test_the_environment_names_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted(Answer()) as script:
        monkeypatch.setenv("MNEMIC_DATABASE_URL", script.url)
        monkeypatch.setenv("MNEMIC_API_KEY", KEY)
        # A proxy would get the key to see: what goes to this machine stays on it.
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
        async with AsyncMemory(owner="alice") as memory:
            assert memory.tenant.name == "acme"
            assert await memory.memories.list() == []


async def test_certificates_are_checked() -> None:
    link = connection.HttpConnection(load_settings(database_url="https://memory.example", api_key=KEY))
    context = link._client._transport._pool._ssl_context  # type: ignore[attr-defined]
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    await link.aclose()
