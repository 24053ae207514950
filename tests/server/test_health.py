"""Liveness, readiness, metrics and a graceful stop."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from mnemic.retain.pipeline import retain_items
from mnemic.server.running import listen
from tests.running_folder import running
from tests.server.conftest import OpenClient, retained
from tests.server.running import RunningServer, running_server
from tests.server.test_authentication import is_problem
from tests.waiting import wait_until


def test_health_needs_no_key(stranger: httpx.Client) -> None:
    assert stranger.get("/healthz").json() == {"status": "alive"}
    assert stranger.get("/readyz").json() == {"status": "ready"}


@pytest.fixture
def own_folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "spoiled")


def test_a_database_that_is_not_migrated_is_not_ready(own_folder: Path) -> None:
    with running_server(own_folder) as server, server.client() as client:
        assert client.get("/readyz").status_code == 200
        place = server.tenants._host.storage.server
        assert place is not None
        with psycopg.connect(place.conninfo(user="mnemic", dbname="mnemic"), autocommit=True) as connection:
            connection.execute(
                "DELETE FROM mnemic.migrations WHERE number = (SELECT max(number) FROM mnemic.migrations)"
            )
        answer = client.get("/readyz")
        assert is_problem(answer, 503, "NotMigratedError")
        assert "migrat" not in answer.json()["detail"], "how is in the log"
        assert client.get("/healthz").status_code == 200


def test_metrics_are_for_admins(stranger: httpx.Client, client_as: OpenClient, writer: httpx.Client) -> None:
    assert is_problem(stranger.get("/metrics"), 401, "NotAuthenticatedError")
    assert is_problem(writer.get("/metrics"), 403, "ForbiddenError")
    retained(writer, "Something to count.")
    answer = client_as("admin").get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    counts = [
        sample.value
        for sample in families["mnemic_call_duration_seconds"].samples
        if sample.name.endswith("_count") and sample.labels["operation"] == "retain"
    ]
    (count,) = counts
    assert count >= 1
    assert families["mnemic_pool_connections"].samples[0].value >= 1


def test_the_last_use_of_a_key_is_recorded(server_folder: Path, tenant: str) -> None:
    with running_server(server_folder) as server:
        made = server.create_key(tenant, "read")
        assert made.last_used_at is None
        with server.client(made.key) as client:
            client.get("/v1/whoami").raise_for_status()
    with running_server(server_folder) as server:
        noted = server.run(server.memory(tenant).keys.get(made.key_id)).last_used_at
    assert noted is not None
    assert noted >= made.created_at


def test_a_stopping_server_finishes_the_requests_that_it_has(
    server_folder: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_go_on = threading.Event(), threading.Event()

    async def slow(*arguments: Any, **options: Any) -> Any:
        begun.set()
        await asyncio.to_thread(may_go_on.wait, 30)
        return await retain_items(*arguments, **options)

    monkeypatch.setattr("mnemic.sdk.memory.retain_items", slow)
    with (
        ThreadPoolExecutor() as pool,
        running_server(server_folder) as server,
        server.client(server.create_key(tenant, "write").key) as client,
    ):
        body = {"content": "Tea.", "owner": "alice"}
        writing = pool.submit(client.post, "/v1/memories", json=body)
        assert begun.wait(30)
        server.stop()
        wait_until(lambda: server.server_app.streams.stopping.is_set(), what="the server to stop")
        may_go_on.set()
        assert writing.result(30).json()["stored_count"] == 1


def test_nagles_algorithm_is_off() -> None:
    """asyncio switches it off only for sockets whose protocol is TCP."""
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


def test_the_openapi_document_needs_no_key(stranger: httpx.Client) -> None:
    document = stranger.get("/openapi.json").json()
    assert document["info"]["title"] == "Mnemic"
    assert stranger.get("/redoc").status_code == 404


def test_an_unknown_path_is_404(server: RunningServer) -> None:
    with server.client() as client:
        assert client.get("/nowhere").status_code == 404
        assert client.post("/healthz").status_code == 405
