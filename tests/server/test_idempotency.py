"""Writes that carry an `Idempotency-Key` are carried out once."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from mnemic.govern import idempotent_requests
from mnemic.retain.pipeline import retain_items
from mnemic.sdk.memory import AsyncMemory
from tests.server.conftest import OpenClient
from tests.server.running import RunningServer
from tests.server.test_authentication import is_problem
from tests.waiting import wait_until

TEA = {"content": "Alice drinks tea.", "owner": "alice"}


def word() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid4())}


def journal(client: httpx.Client) -> list[Any]:
    entries: list[Any] = client.get("/v1/journal", params={"owner": "alice"}).json()
    return entries


@pytest.fixture
def admin_of(server: RunningServer) -> Iterator[psycopg.Connection[Any]]:
    """The superuser's connection to the server's database."""
    place = server.tenants._host.storage.server
    assert place is not None
    with psycopg.connect(place.conninfo(user="mnemic", dbname="mnemic"), autocommit=True) as connection:
        yield connection


def test_the_same_request_again_gets_the_first_answer(writer: httpx.Client) -> None:
    headers = word()
    first = writer.post("/v1/memories", json=TEA, headers=headers)
    again = writer.post("/v1/memories", json=TEA, headers=headers)
    assert (again.status_code, again.content) == (first.status_code, first.content) == (200, first.content)
    assert first.json()["stored_count"] == 1
    assert (first.headers.get("idempotency-replayed"), again.headers["idempotency-replayed"]) == (
        None,
        "true",
    )
    assert again.headers["content-type"] == first.headers["content-type"]
    without = writer.post("/v1/memories", json=TEA)
    assert without.json()["duplicate_count"] == 1


def test_a_repeated_write_is_carried_out_once(writer: httpx.Client) -> None:
    entry, headers = {"evaluated": "tea", "owner": "alice"}, word()
    for _ in range(3):
        writer.post("/v1/journal", json=entry, headers=headers).raise_for_status()
    assert len(journal(writer)) == 1
    writer.post("/v1/journal", json=entry, headers=word()).raise_for_status()
    writer.post("/v1/journal", json=entry).raise_for_status()
    assert len(journal(writer)) == 3


def test_the_same_idempotency_key_with_another_body_is_refused(writer: httpx.Client) -> None:
    headers = word()
    writer.post("/v1/memories", json=TEA, headers=headers).raise_for_status()
    answer = writer.post("/v1/memories", json={**TEA, "content": "Coffee."}, headers=headers)
    assert is_problem(answer, 422, "InvalidInputError")
    assert len(writer.get("/v1/memories", params={"owner": "alice"}).json()) == 1


def test_an_idempotency_key_is_scoped_to_api_key_method_and_path(client_as: OpenClient) -> None:
    headers, entry = word(), {"evaluated": "tea", "owner": "alice"}
    one, other = client_as("write"), client_as("write")
    for client in (one, other):
        client.post("/v1/journal", json=entry, headers=headers).raise_for_status()
    assert len(journal(one)) == 2
    stored = one.post("/v1/memories", json=TEA, headers=headers)
    assert stored.json()["stored_count"] == 1


def test_a_failed_request_may_be_repeated(writer: httpx.Client) -> None:
    headers = word()
    assert writer.post("/v1/memories", json={"content": "Tea."}, headers=headers).status_code == 422
    assert writer.post("/v1/memories", json=TEA, headers=headers).json()["stored_count"] == 1


def test_an_answer_without_a_body_is_repeated_too(writer: httpx.Client) -> None:
    headers = word()
    put = {"document": {"a": 1}, "owner": "alice"}
    first = writer.put("/v1/state/plan", json=put, headers=headers)
    assert first.is_success, first.text
    deleting = word()
    gone = [writer.delete("/v1/state/plan", params={"owner": "alice"}, headers=deleting) for _ in range(2)]
    assert gone[0].is_success, gone[0].text
    assert (gone[0].status_code, gone[0].content) == (gone[1].status_code, gone[1].content)


@dataclass(frozen=True)
class SlowRetain:
    """A retain that waits: `begun` is set when it is called, and it goes on when `may_go_on` is set."""

    begun: threading.Event
    may_go_on: threading.Event


@pytest.fixture
def slow_retain(monkeypatch: pytest.MonkeyPatch) -> SlowRetain:
    made = SlowRetain(threading.Event(), threading.Event())

    async def wait_and_retain(*arguments: Any, **options: Any) -> Any:
        made.begun.set()
        await asyncio.to_thread(made.may_go_on.wait, 60)
        return await retain_items(*arguments, **options)

    monkeypatch.setattr("mnemic.sdk.memory.retain_items", wait_and_retain)
    return made


def test_repetitions_get_409_while_the_first_request_runs(
    server: RunningServer, writer: httpx.Client, slow_retain: SlowRetain
) -> None:
    headers = word()
    with ThreadPoolExecutor() as pool:
        first = pool.submit(writer.post, "/v1/memories", json=TEA, headers=headers)
        assert slow_retain.begun.wait(60)
        second = writer.post("/v1/memories", json=TEA, headers=headers)
        slow_retain.may_go_on.set()
        assert first.result().json()["stored_count"] == 1
    assert is_problem(second, 409, "ConflictError")
    assert int(second.headers["retry-after"]) >= 1
    third = writer.post("/v1/memories", json=TEA, headers=headers)
    assert third.content == first.result().content


def test_a_request_that_takes_long_is_not_taken_for_dead(
    writer: httpx.Client,
    tenant: str,
    admin_of: psycopg.Connection[Any],
    slow_retain: SlowRetain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(idempotent_requests, "RENEW_EVERY_S", 0.01)
    ours = "tenant_id = (SELECT tenant_id FROM state.tenants WHERE name = %s)"
    age = f"UPDATE queue.idempotent_requests SET started_at = now() - interval '1 h' WHERE {ours}".encode()
    fresh = f"SELECT started_at > now() - interval '1 m' FROM queue.idempotent_requests WHERE {ours}".encode()
    headers = word()
    with ThreadPoolExecutor() as pool:
        first = pool.submit(writer.post, "/v1/memories", json=TEA, headers=headers)
        assert slow_retain.begun.wait(60)
        admin_of.execute(age, [tenant])
        wait_until(lambda: admin_of.execute(fresh, [tenant]).fetchone() == (True,), what="the renewal")
        assert writer.post("/v1/memories", json=TEA, headers=headers).status_code == 409
        slow_retain.may_go_on.set()
        assert first.result().json()["stored_count"] == 1


def test_many_at_once_are_carried_out_once(writer: httpx.Client) -> None:
    headers, entry = word(), {"evaluated": "tea", "owner": "alice"}
    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(writer.post, "/v1/journal", json=entry, headers=headers) for _ in range(8)]
    assert {answer.result().status_code for answer in sent} <= {200, 409}
    assert len(journal(writer)) == 1


def test_responses_to_reads_are_not_kept(
    writer: httpx.Client, admin_of: psycopg.Connection[Any], tenant: str
) -> None:
    headers = word()
    writer.post("/v1/recall", json={"query": "tea", "owner": "alice"}, headers=headers).raise_for_status()
    assert kept(admin_of, tenant) == []


def kept(admin: psycopg.Connection[Any], tenant: str) -> list[tuple[Any, ...]]:
    return admin.execute(
        "SELECT kept.owner FROM queue.idempotent_requests AS kept JOIN state.tenants USING (tenant_id)"
        " WHERE name = %s",
        [tenant],
    ).fetchall()


@pytest.mark.parametrize("odd", ["", "x" * 256, "a b", "é"])
def test_an_idempotency_key_must_be_visible_ascii_and_short(writer: httpx.Client, odd: str) -> None:
    headers = {"Idempotency-Key": odd.encode()}
    answer = writer.post("/v1/memories", json=TEA, headers=headers)  # type: ignore[arg-type]
    assert is_problem(answer, 422, "InvalidInputError")


def test_a_batch_is_carried_out_once_and_compared(writer: httpx.Client) -> None:
    headers = {**word(), "Content-Type": "application/x-ndjson", "Mnemic-Owner": "alice"}
    lines = b'{"content": "One."}\n{"content": "Two."}\n'
    first, again = (writer.post("/v1/memories/batch", content=lines, headers=headers) for _ in range(2))
    assert first.json()["stored_count"] == 2, first.text
    assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
    other = writer.post("/v1/memories/batch", content=lines + b'"Three."\n', headers=headers)
    assert is_problem(other, 422, "InvalidInputError")


@pytest.mark.parametrize(
    "request_of",
    [
        {"json": TEA},
        {"json": {"content": "Tea."}, "headers": {"Mnemic-Owner": "alice"}},
        {"json": {"content": "Tea.", "owner": "alice"}, "headers": {"Mnemic-Owner": "bob"}},
    ],
)
def test_answers_are_erased_with_the_owner_they_are_about(
    server: RunningServer,
    writer: httpx.Client,
    tenant: str,
    admin_of: psycopg.Connection[Any],
    request_of: dict[str, Any],
) -> None:
    headers = {**word(), **request_of.get("headers", {})}
    writer.post("/v1/memories", json=request_of["json"], headers=headers).raise_for_status()
    assert kept(admin_of, tenant) == [("alice",)]
    memory: AsyncMemory = server.memory(tenant)
    receipt = server.run(memory.admin.erase("alice"))
    assert receipt.rows["queue.idempotent_requests"] == 1
    assert kept(admin_of, tenant) == []


def test_responses_are_kept_for_a_day_and_dead_executions_are_taken_over(
    writer: httpx.Client, tenant: str, admin_of: psycopg.Connection[Any]
) -> None:
    headers, entry = word(), {"evaluated": "tea", "owner": "alice"}
    ours = "tenant_id = (SELECT tenant_id FROM state.tenants WHERE name = %s)"
    age = f"UPDATE queue.idempotent_requests SET started_at = now() - %s::interval WHERE {ours}".encode()
    die = f"UPDATE queue.idempotent_requests SET status = NULL, body_hash = NULL WHERE {ours}".encode()
    for old in ("0 h", "23 h", "25 h"):
        writer.post("/v1/journal", json=entry, headers=headers).raise_for_status()
        assert len(journal(writer)) == 1
        admin_of.execute(age, [old, tenant])
    writer.post("/v1/journal", json=entry, headers=headers).raise_for_status()
    assert len(journal(writer)) == 2
    admin_of.execute(die, [tenant])
    assert writer.post("/v1/journal", json=entry, headers=headers).status_code == 409
    admin_of.execute(age, ["11 s", tenant])
    writer.post("/v1/journal", json=entry, headers=headers).raise_for_status()
    assert len(journal(writer)) == 3


@pytest.mark.parametrize(
    ("path", "order", "told"),
    [
        ("/v1/keys", {"role": "read"}, "key"),
        ("/v1/webhooks", {"url": "https://receiver.example/hook"}, "secret"),
    ],
)
def test_a_secret_is_returned_once_and_never_stored(
    client_as: OpenClient,
    admin_of: "psycopg.Connection[Any]",
    path: str,
    order: dict[str, str],
    told: str,
) -> None:
    admin, headers = client_as("admin"), word()
    first = admin.post(path, json=order, headers=headers)
    assert (first.status_code, first.headers["cache-control"]) == (200, "no-store")
    again = admin.post(path, json=order, headers=headers)
    assert (again.status_code, "has a secret" in again.json()["detail"]) == (409, True)
    kept = admin_of.execute("SELECT answer FROM queue.idempotent_requests").fetchall()
    assert not any(first.json()[told].encode() in bytes(answer or b"") for (answer,) in kept)
