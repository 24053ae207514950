"""`mnemic serve` as a process: where it listens, how it stops, what survives when it is killed."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from mnemic import Memory
from mnemic.config import Settings
from tests.running_folder import running
from tests.server.running import TLS
from tests.waiting import wait_until
from tests.warm_start.starting import WarmStart

MAIN = "from mnemic.cli.app import main; main()"
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 60.0
WRITERS = 8
WRITES_BEFORE_THE_KILL = 60

Start = Callable[..., "Process"]


class Process:
    """`mnemic serve`, running."""

    def __init__(self, program: list[str], folder: Path, log: Path, *options: str) -> None:
        environment = {**os.environ, "MNEMIC_DATA_DIR": str(folder), "MNEMIC_EMBEDDER": "test"}
        command = [*program, "serve", "--port", "0", "--json", *options]
        self._log = log
        with log.open("w") as stderr:
            self.process = subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True
            )

    def url(self) -> str:
        """Where it listens, as it says itself when it has started."""
        assert self.process.stdout is not None
        lines = ""
        for line in self.process.stdout:
            lines += line
            with suppress(ValueError):
                url: str = json.loads(lines)["url"]
                return url
        raise AssertionError(self.log())

    def end(self, number: signal.Signals) -> int:
        """Send a signal, and wait for the end; returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(STOP_TIMEOUT_S)

    def log(self) -> str:
        return self._log.read_text()


@pytest.fixture(scope="module")
def folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder of its own, in which no key exists at first."""
    yield from running(memory_dir / "serving")


@pytest.fixture
def start(folder: Path, tmp_path: Path, warm_start: WarmStart) -> Iterator[Start]:
    """Starts servers, and ends those that still run; with `new_interpreter` not as forks."""
    started: list[Process] = []

    def start(*options: str, new_interpreter: bool = False) -> Process:
        program = [sys.executable, "-c", MAIN] if new_interpreter else [warm_start.mnemic]
        process = Process(program, folder, tmp_path / f"log {len(started)}", *options)
        started.append(process)
        return process

    yield start
    for process in started:
        process.process.kill()
        process.process.wait(STOP_TIMEOUT_S)
        assert process.process.stdout is not None
        process.process.stdout.close()


@pytest.fixture
def tenant() -> str:
    return f"tenant {uuid4()}"


def key_for(folder: Path, tenant: str, **options: Any) -> str:
    with Memory(data_dir=folder, tenant=tenant, embedder="test") as memory:
        return memory.keys.create(role="write", **options).key


def client_of(url: str, key: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60, verify=TLS)


def test_without_any_key_it_refuses_to_listen_beyond_loopback(start: Start) -> None:
    process = start("--host", "0.0.0.0")
    assert process.process.wait(START_TIMEOUT_S) == 1
    assert "mnemic keys create" in process.log()
    assert "Traceback" not in process.log()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_a_signal_and_exits_with_0(
    start: Start, folder: Path, tenant: str, number: signal.Signals
) -> None:
    process = start()
    url = process.url()
    assert url.startswith("http://127.0.0.1:")
    key = key_for(folder, tenant, owner="alice")
    with client_of(url, key) as client:
        client.post("/v1/memories", json={"content": "Tea."}).raise_for_status()
        assert client.post("/v1/recall", json={"query": "tea", "refuse_below": 0}).json()["hits"]
        with client.stream("GET", "/v1/events/stream") as response:
            assert response.status_code == 200
            assert process.end(number) == 0, process.log()
    assert "Traceback" not in process.log()
    lines = [json.loads(line) for line in process.log().splitlines()]
    assert {"POST /v1/recall"} <= {f"{line.get('method')} {line.get('route')}" for line in lines}
    assert key not in process.log()
    with Memory(data_dir=folder, tenant=tenant, owner="alice", embedder="test") as memory:
        (record,) = memory.memories.list()
        assert record.retrieval_count == 1, "what was counted is written at the end"
        (used,) = memory.keys.list()
        assert used.last_used_at is not None


def test_with_a_key_it_listens_on_any_host(start: Start, folder: Path, tenant: str) -> None:
    key = key_for(folder, tenant)
    url = start("--host", "0.0.0.0", "--no-worker", "--no-mcp").url()
    with client_of(url.replace("0.0.0.0", "127.0.0.1"), key) as client:
        assert client.get("/v1/whoami").json()["tenant"] == tenant
        assert client.post("/mcp", json={}).status_code == 404


def test_a_port_that_is_taken_is_a_clear_error(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        process = start("--port", port)
        assert process.process.wait(START_TIMEOUT_S) == 1
    assert f"Cannot listen on port {port}" in " ".join(process.log().split())
    assert "Traceback" not in process.log()


def test_it_runs_the_jobs_of_all_tenants(start: Start, folder: Path, tenant: str) -> None:
    url = start().url()
    key = key_for(folder, tenant, owner="alice")
    # One that does no jobs itself.
    settings = Settings(data_dir=folder, tenant=tenant, owner="alice", embedder="test", worker=False)
    with Memory(settings=settings) as memory:
        job = memory.jobs.enqueue("maintenance.snapshots")
        assert memory.jobs.wait(job.job_id, timeout_s=60).state == "done"
    with client_of(url, key) as client:
        assert client.get("/healthz").status_code == 200


def test_mcp_needs_a_key(start: Start, folder: Path, tenant: str) -> None:
    url = start("--mcp").url()
    key = key_for(folder, tenant, owner="alice")
    initialize = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "tests", "version": "1"},
        },
    }
    headers = {"Accept": "application/json, text/event-stream"}
    with client_of(url, key) as client:
        answer = client.post("/mcp", json=initialize, headers=headers)
        assert answer.status_code == 200, answer.text
        assert "serverInfo" in answer.text
        assert (
            client.post("/mcp", json=initialize, headers={**headers, "Authorization": "Bearer x"}).status_code
            == 401
        )
        assert client.post(
            "/mcp", json=initialize, headers={**headers, "Host": "evil.example"}
        ).status_code in (
            403,
            421,
        )


def test_every_write_that_was_acknowledged_survives_a_kill(start: Start, folder: Path, tenant: str) -> None:
    process = start(new_interpreter=True)
    url, key = process.url(), key_for(folder, tenant, owner="alice")
    acknowledged: list[str] = []

    def write(writer: int) -> None:
        with client_of(url, key) as client:
            for number in range(10_000):
                text = f"Note {number} of writer {writer}."
                try:
                    answer = client.post("/v1/memories", json={"content": text})
                except httpx.TransportError:
                    return
                if answer.status_code == 200:
                    acknowledged.append(text)

    with ThreadPoolExecutor(WRITERS) as pool:
        writing = [pool.submit(write, writer) for writer in range(WRITERS)]
        wait_until(lambda: len(acknowledged) >= WRITES_BEFORE_THE_KILL, timeout_s=60, what="writes under way")
        assert process.end(signal.SIGKILL) == -signal.SIGKILL
        for each in writing:
            each.result(STOP_TIMEOUT_S)
    with Memory(data_dir=folder, tenant=tenant, owner="alice", embedder="test") as memory:
        stored: list[str] = []
        page = memory.memories.list(limit=1000)
        while page:
            stored += [record.content for record in page]
            page = memory.memories.list(limit=1000, before=page[-1].memory_id)
    assert set(acknowledged) - set(stored) == set()
    # At most one write of each writer was running: stored, but not acknowledged.
    assert len(stored) - len(acknowledged) <= WRITERS
