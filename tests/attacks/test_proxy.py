"""Attacks on the proxy: keys that leak, requests that choose their target, clients that exhaust it."""

import gzip
import json
import logging
import socket
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
import zstandard

import mnemic.proxy.app as proxy_app
from mnemic.config import Settings
from mnemic.context.entry import Entry
from mnemic.context.policy.settings import PagingSettings
from mnemic.context.window import Window
from mnemic.errors import ConfigurationError
from mnemic.proxy import paging
from mnemic.proxy.forwarding import provider_url
from mnemic.proxy.open_sessions import OpenSessions, SessionName
from mnemic.proxy.protocol import Unsure
from mnemic.proxy.request_bodies import decompressed
from tests.proxy.raw_upstream import CHUNKED_HEAD, RawUpstream, chunk, raw_upstream
from tests.proxy.running import RunningProxy, running_proxy
from tests.running_folder import running
from tests.waiting import wait_until

PROVIDER_KEY = "sk-ant-do-not-store-me-4711"
TOOL = {"name": "read", "input_schema": {"type": "object", "properties": {}}}
EVENTS = (
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 10, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
)
STREAM = b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in EVENTS)


@pytest.fixture(scope="module")
def folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "attacked-proxy")


@pytest.fixture(scope="module")
def provider() -> Iterator[RawUpstream]:
    with raw_upstream() as upstream:
        upstream.answer = lambda received, connection: connection.sendall(
            CHUNKED_HEAD + chunk(STREAM) + chunk(b"")
        )
        yield upstream


@pytest.fixture(scope="module")
def proxy(folder: Path, provider: RawUpstream) -> Iterator[RunningProxy]:
    with running_proxy(
        folder,
        anthropic=provider.url,
        openai=provider.url,
        proxy_max_request_bytes=2_000_000,
        proxy_opening_tokens=0,
    ) as running:
        yield running


def conversation(words: str) -> dict[str, object]:
    messages = [{"role": "user", "content": words}]
    return {"model": "m", "max_tokens": 9, "stream": True, "tools": [TOOL], "messages": messages}


def turns_of(proxy: RunningProxy, tenant: str, owner: str) -> list[str]:
    memory = proxy.memory(tenant)
    found = proxy.run(memory.conversations.recent(owner=owner))
    return [turn.content for turn in found]


def test_the_key_of_the_provider_is_neither_stored_nor_logged(
    proxy: RunningProxy, provider: RawUpstream, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tenant = f"tenant {uuid4()}"
    key = proxy.create_key(tenant).key
    headers = {"x-api-key": PROVIDER_KEY, "authorization": f"Bearer {PROVIDER_KEY}", "x-mnemic-key": key}
    with caplog.at_level(logging.DEBUG), proxy.client() as client:
        for body in (conversation("Key check"), {"model": "m"}, "no JSON"):
            client.post("/v1/messages", json=body, headers=headers)
        client.get(f"/key/{key}/v1/nothing/../x", headers=headers)
    assert provider.received[-1].header("x-api-key") == PROVIDER_KEY
    assert provider.received[-1].header("x-mnemic-key") is None
    wait_until(lambda: "Hello." in turns_of(proxy, tenant, "default"), what="the turn to be recorded")
    logged = "\n".join(str(vars(record)) for record in caplog.records if record.name.startswith("mnemic"))
    assert logged
    assert PROVIDER_KEY not in logged
    assert key not in logged
    secret = PROVIDER_KEY.encode()
    assert [path for path in folder.rglob("*") if path.is_file() and contains(path, secret)] == []


def contains(path: Path, secret: bytes) -> bool:
    """Whether a file holds this; a server that runs removes files meanwhile."""
    with suppress(FileNotFoundError):
        return secret in path.read_bytes()
    return False


def test_tenants_with_the_same_words_and_session_share_nothing(
    proxy: RunningProxy, provider: RawUpstream
) -> None:
    names = [f"tenant {uuid4()}" for _ in range(2)]
    secrets = [proxy.create_key(name).key for name in names]
    with proxy.client() as client:
        for place, secret in enumerate(secrets):
            headers = {"x-mnemic-key": secret, "x-session-id": "same", "Mnemic-Owner": "alice"}
            client.post("/v1/messages", json=conversation("The same words"), headers=headers)
            client.post("/v1/messages", json=conversation(f"Only of {place}"), headers=headers)
    for place, name in enumerate(names):
        wait_until(lambda name=name, place=place: f"Only of {place}" in turns_of(proxy, name, "alice"))  # type: ignore[misc]
        assert f"Only of {1 - place}" not in turns_of(proxy, name, "alice")


def test_requests_without_a_key_that_may_come_from_a_web_page_are_refused(
    proxy: RunningProxy, provider: RawUpstream, subtests: pytest.Subtests
) -> None:
    count = len(provider.received)
    pages = (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example:80"},
        {"host": "10.0.0.1"},
    )
    with proxy.client() as client:
        for headers in pages:
            for method in ("POST", "OPTIONS", "GET"):
                with subtests.test(method=method, **headers):
                    assert client.request(method, "/v1/messages", headers=headers).status_code == 403
    assert len(provider.received) == count


def test_a_request_cannot_choose_its_target(
    proxy: RunningProxy, provider: RawUpstream, subtests: pytest.Subtests
) -> None:
    count = len(provider.received)
    targets = (
        b"/v1/../../admin",
        b"/v1/%2e%2e/%2e%2e/admin",
        b"/v1/..%5c..%5cadmin",
        b"//evil.example/v1/messages",
        b"/key/mn_x/../v1/messages",
    )
    with proxy.client() as client:
        for target in targets:
            with subtests.test(target=target):
                request = client.build_request("GET", "/", extensions={"target": target})
                assert client.send(request).status_code in (400, 401, 404)
    assert len(provider.received) == count


def test_urls_of_providers_hold_no_secrets_and_no_other_schemes(subtests: pytest.Subtests) -> None:
    for value in ("file:///etc/passwd", "ftp://a", "https://", "https://u:p@a", "https://a?x=1", "nonsense"):
        with subtests.test(value=value), pytest.raises(ConfigurationError) as failed:
            provider_url("MNEMIC_PROXY_OPENAI_URL", value)
        assert "u:p" not in str(failed.value)


def test_wrong_and_weak_keys_are_refused_in_the_shape_of_the_api(
    proxy: RunningProxy, provider: RawUpstream
) -> None:
    count = len(provider.received)
    reader = proxy.create_key(f"tenant {uuid4()}", "read").key
    bound = proxy.create_key(f"tenant {uuid4()}", "write", owner="alice").key
    with proxy.client() as client:
        wrong = client.post("/v1/messages", json={}, headers={"x-mnemic-key": "mn_" + "x" * 43})
        assert (wrong.status_code, wrong.json()["error"]["type"]) == (401, "authentication_error")
        weak = client.post("/v1/responses", json={}, headers={"x-mnemic-key": reader})
        assert (weak.status_code, weak.json()["error"]["type"]) == (403, "invalid_request_error")
        headers = {"x-mnemic-key": bound, "Mnemic-Owner": "bob"}
        assert client.post("/v1/messages", json={}, headers=headers).status_code == 403
    assert len(provider.received) == count


def test_bodies_over_the_limit_are_refused(proxy: RunningProxy, provider: RawUpstream) -> None:
    count = len(provider.received)
    with proxy.client() as client:
        known = client.post("/v1/messages", content=b"x" * 2_000_001)
        assert (known.status_code, known.json()["error"]["type"]) == (413, "request_too_large")
        chunked = client.post("/v1/messages", content=iter([b"x" * 1_000_000] * 3))
        assert chunked.status_code == 413
    assert len(provider.received) == count


def test_a_decompression_bomb_is_not_unpacked(subtests: pytest.Subtests) -> None:

    text = json.dumps({"a": "x" * 50_000_000}).encode()
    for encoding, packed in (("gzip", gzip.compress(text)), ("zstd", zstandard.compress(text))):
        with subtests.test(encoding), pytest.raises(Unsure):
            decompressed(packed, encoding, max_bytes=1_000_000)


def test_bodies_that_are_being_sent_and_unpacked_count(
    folder: Path, provider: RawUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise all requests that a tenant may have in progress could hold bodies of the largest size."""
    monkeypatch.setattr(proxy_app, "TENANT_BODIES_MAX_BYTES", 2_500_000)
    with (
        running_proxy(
            folder, anthropic=provider.url, openai=provider.url, proxy_max_request_bytes=2_000_000
        ) as proxy,
        proxy.client() as client,
    ):
        hostile, other = ({"x-mnemic-key": proxy.create_key(f"tenant {uuid4()}").key} for _ in range(2))
        text = json.dumps({"a": "x" * 1_500_000}).encode()
        bodies: dict[str, tuple[bytes, dict[str, str]]] = {
            "plain": (text, {}),
            "compressed": (zstandard.compress(text), {"content-encoding": "zstd"}),
        }
        place = httpx.URL(proxy.url)
        with socket.create_connection((place.host, place.port)) as stalled:
            lines = ("POST /v1/messages HTTP/1.1", f"Host: {place.host}", "Content-Length: 1900000")
            head = "\r\n".join((*lines, *(f"{name}: {value}" for name, value in hostile.items()), "", ""))
            stalled.sendall(head.encode() + b"x" * 1_800_000)
            for body, headers in bodies.values():
                wait_until(
                    partial(_is_refused, client, body, {**hostile, **headers}),
                    what="too many bytes of bodies",
                )
                answer = client.post("/v1/messages", content=body, headers={**other, **headers})
                assert answer.status_code == 200
        wait_until(lambda: not _is_refused(client, text, hostile), what="the bytes to be given back")


def _is_refused(client: httpx.Client, body: bytes, headers: dict[str, str]) -> bool:
    return client.post("/v1/messages", content=body, headers=headers).status_code == 429


def test_many_small_entries_count_in_the_cache_of_sessions() -> None:
    entries = [Entry(str(number), "user", "x") for number in range(10_000)]
    tracemalloc.start()
    window = Window(PagingSettings(budget_tokens=200_000), None)
    window.observe(entries, fixed_tokens=0, now=datetime.now(UTC), at_user_turn=False, model="m")
    taken_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken_bytes < paging.BYTES_PER_ENTRY * len(entries)


def test_cached_sessions_are_bounded_in_number_and_bytes() -> None:
    sessions = OpenSessions(count_max=10, bytes_max=1_000)
    for number in range(100):
        session = sessions.get(SessionName("t", "o", str(number)))
        sessions.resize(session, 300)
    assert len(sessions) <= 3
    assert sessions.size_bytes <= 1_000


def test_a_tenant_cannot_take_all_connections(folder: Path) -> None:
    with (
        raw_upstream() as silent,
        running_proxy(
            folder, anthropic=silent.url, openai=silent.url, proxy_max_requests_per_tenant=2
        ) as proxy,
        proxy.client() as client,
    ):
        silent.answer = lambda received, connection: connection.sendall(CHUNKED_HEAD)
        keys = [proxy.create_key(f"tenant {uuid4()}").key for _ in range(2)]
        held = []
        for _ in range(2):
            request = client.build_request(
                "POST", "/v1/messages", content=b"{}", headers={"x-mnemic-key": keys[0]}
            )
            held.append(client.send(request, stream=True))
        third = client.post("/v1/messages", content=b"{}", headers={"x-mnemic-key": keys[0]})
        assert (third.status_code, third.json()["error"]["type"]) == (429, "rate_limit_error")
        request = client.build_request(
            "POST", "/v1/messages", content=b"{}", headers={"x-mnemic-key": keys[1]}
        )
        other = client.send(request, stream=True)
        assert other.status_code == 200
        for response in (*held, other):
            response.close()


def test_no_provider_gives_a_clear_error(folder: Path, subtests: pytest.Subtests) -> None:
    nowhere = "http://127.0.0.1:1"
    with running_proxy(folder, anthropic=nowhere, openai=nowhere) as proxy, proxy.client() as client:
        for path, kind in (("/v1/messages", "api_error"), ("/v1/chat/completions", "server_error")):
            with subtests.test(path):
                answer = client.post(path, content=b"{}")
                assert (answer.status_code, answer.json()["error"]["type"]) == (502, kind)


def test_settings_of_the_proxy_are_checked() -> None:
    with pytest.raises(ValueError, match="proxy_max_requests"):
        Settings(proxy_max_requests=0)
    assert httpx.URL(Settings().proxy_anthropic_url).scheme == "https"
