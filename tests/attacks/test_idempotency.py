"""Attacks on idempotent writes: a repeated key must never return another request's answer or drop a write."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.attacks.http_server import attacked_server, new_key
from tests.running_folder import running
from tests.server.running import RunningServer
from tests.server.test_authentication import is_problem

LINES = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def server(memory_dir: Path) -> Iterator[RunningServer]:
    for folder in running(memory_dir / "idempotency"):
        with attacked_server(folder) as server:
            yield server


@pytest.fixture
def writer(server: RunningServer) -> Iterator[httpx.Client]:
    """A client that may write for every owner of a tenant of its own."""
    with server.client(new_key(server).key) as client:
        yield client


def journal(client: httpx.Client, owner: str) -> list[Any]:
    entries: list[Any] = client.get("/v1/journal", params={"owner": owner}).json()
    return entries


def test_two_owners_may_choose_the_same_key(writer: httpx.Client, subtests: pytest.Subtests) -> None:
    """The owner in a header, in the body or in the query: each owner gets its own write and answer."""

    def by_header(owner: str) -> dict[str, Any]:
        return {"url": "/v1/memories", "json": {"content": "Tea."}, "headers": {"Mnemic-Owner": owner}}

    def by_body(owner: str) -> dict[str, Any]:
        return {"url": "/v1/memories", "json": {"content": "Tea!", "owner": owner}}

    def by_body_against_header(owner: str) -> dict[str, Any]:
        body = {"content": "Tea?", "owner": owner}
        return {"url": "/v1/memories", "json": body, "headers": {"Mnemic-Owner": "carol"}}

    def batch(owner: str) -> dict[str, Any]:
        headers = {**LINES, "Mnemic-Owner": owner}
        return {"url": "/v1/memories/batch", "content": b'"A batch of tea."\n', "headers": headers}

    def batch_by_query(owner: str) -> dict[str, Any]:
        content = b'"Another batch of tea."\n'
        return {"url": "/v1/memories/batch", "params": {"owner": owner}, "content": content, "headers": LINES}

    for request_of in (by_header, by_body, by_body_against_header, batch, batch_by_query):
        with subtests.test(request_of.__name__):
            key = {"Idempotency-Key": str(uuid4())}
            answers = {}
            for owner in ("alice", "bob"):
                request = request_of(owner)
                headers = request.pop("headers", {}) | key
                answers[owner] = writer.post(headers=headers, **request)
                assert answers[owner].json()["stored_count"] == 1, answers[owner].text
                again = writer.post(headers=headers, **request)
                assert again.headers["idempotency-replayed"] == "true"
                assert again.content == answers[owner].content
            assert answers["alice"].content != answers["bob"].content


def test_another_scope_is_another_request(writer: httpx.Client, subtests: pytest.Subtests) -> None:
    """Channel and process change what is written: the answer of the first request would drop the second."""
    key = {"Idempotency-Key": str(uuid4()), "Mnemic-Owner": "alice"}
    scopes: tuple[dict[str, str], ...] = (
        {},
        {"Mnemic-Channel": "mail"},
        {"Mnemic-Channel": "chat"},
        {"Mnemic-Channel": "ch%61t2"},
        {"Mnemic-Process": "mail"},
        {"Mnemic-Channel": "mail", "Mnemic-Process": "importer"},
    )
    for count, scope in enumerate(scopes, start=1):
        with subtests.test(str(scope)):
            for _ in range(2):
                answer = writer.post("/v1/journal", json={"acted": "Tea."}, headers=key | scope)
                answer.raise_for_status()
            assert len(journal(writer, "alice")) == count


def test_one_scope_in_two_spellings_is_one_request(writer: httpx.Client) -> None:
    key = {"Idempotency-Key": str(uuid4())}
    for path, owner in (("/v1/journal", "alice"), ("/v1/jo%75rnal", "%61lice")):
        headers = key | {"Mnemic-Owner": owner}
        writer.post(path, json={"acted": "Tea."}, headers=headers).raise_for_status()
    assert len(journal(writer, "alice")) == 1


def test_a_key_of_another_tenant_or_api_key_is_another_request(server: RunningServer) -> None:
    tenant = f"tenant {uuid4()}"
    key = {"Idempotency-Key": str(uuid4()), "Mnemic-Owner": "alice"}
    for made in (new_key(server, tenant=tenant), new_key(server, tenant=tenant), new_key(server)):
        with server.client(made.key) as client:
            answer = client.post("/v1/journal", json={"acted": "Tea."}, headers=key)
            answer.raise_for_status()
            assert "idempotency-replayed" not in answer.headers


def test_another_request_with_a_used_key_is_refused(writer: httpx.Client, subtests: pytest.Subtests) -> None:
    """The same scope, method and path, but another body: 422, as the draft of the IETF says."""
    key = {"Idempotency-Key": str(uuid4()), "Mnemic-Owner": "alice"}
    writer.post("/v1/journal", json={"acted": "Tea."}, headers=key).raise_for_status()
    bodies: tuple[dict[str, Any], ...] = (
        {"acted": "Coffee."},
        {"acted": "Tea.", "channel": "mail"},
        {"acted": "Tea.", "owner": "alice"},
    )
    for body in bodies:
        with subtests.test(str(body)):
            answer = writer.post("/v1/journal", json=body, headers=key)
            assert answer.status_code == 422, answer.text
            assert is_problem(answer, 422, "InvalidInputError")
    assert len(journal(writer, "alice")) == 1
